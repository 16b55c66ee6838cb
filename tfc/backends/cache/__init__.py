"""Code of earlier compilations in a folder, for the processes to come; knows no backend."""
