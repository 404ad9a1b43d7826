"""AM-FM (D'Haro et al. 2019): adequacy by latent semantics, fluency by a language model."""
