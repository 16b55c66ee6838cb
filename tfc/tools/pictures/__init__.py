"""Pictures of programs as SVG, HTML and Graphviz text, made without any library or network."""
