"""Ways to find the lossy links: the Poisson likelihood ratio, and what others published, in one harness."""
