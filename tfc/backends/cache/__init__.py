"""Code of earlier compilations, and measured schedules, in a folder for later; knows no backend."""
