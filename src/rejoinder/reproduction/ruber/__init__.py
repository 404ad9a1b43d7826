"""RUBER on the judged replies of Zhao et al. 2020 (Tao et al. 2018)."""
