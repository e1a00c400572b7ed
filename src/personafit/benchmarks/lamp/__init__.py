"""LaMP (arXiv 2304.11406): what people cited, tagged and rated, as choices, and what they wrote, for systems to write again."""
