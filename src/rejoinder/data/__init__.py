"""Reading and writing: files, frames and streams to examples, and back."""
