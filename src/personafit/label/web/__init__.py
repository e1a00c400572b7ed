"""The app as it is served: routes for raters and researchers, and what guards them."""
