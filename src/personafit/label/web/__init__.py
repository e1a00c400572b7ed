"""The web application: routes for raters and researchers, and the middleware that protects them."""
