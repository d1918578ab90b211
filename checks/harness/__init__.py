"""The tool behind the Makefile: grades solutions and prints what a candidate reads."""
