// Browsers of items: several can stand in one page, and each starts when it comes near.

// What a browser's script takes for the document: its own part of the page, in which ids have a prefix.
function scoped(root) {
  const prefix = root.dataset.prefix;
  return {
    getElementById: (id) => root.querySelector(`#${CSS.escape(prefix + id)}`) ?? root.querySelector(`#${CSS.escape(id)}`),
    querySelector: (selector) => root.querySelector(selector),
    querySelectorAll: (selector) => root.querySelectorAll(selector),
    createElement: (tag) => document.createElement(tag),
    createTextNode: (text) => document.createTextNode(text),
    createDocumentFragment: () => document.createDocumentFragment(),
    addEventListener: (...what) => (alone ? document : root).addEventListener(...what), // single keys work all over a page with one browser
    get activeElement() {
      return document.activeElement;
    },
    get body() {
      return root;
    },
    get documentElement() {
      return root;
    },
  };
}

const roots = document.querySelectorAll("[data-browser]");
const alone = roots.length === 1;
const startBrowser = (document) => {
// BROWSER
};

// A browser starts when it comes near: most readers never get to the last one.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      target.browser = startBrowser(scoped(target));
    }
  },
  { rootMargin: "1200px" },
);
for (const root of roots) near.observe(root);
