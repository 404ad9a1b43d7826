"""Pools of replies by several systems, for people to judge."""
