// The collected report: several browsers in one page, and the chapter that is being read marked in the contents.

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
    addEventListener: (...what) => root.addEventListener(...what),
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

const BROWSERS = {};
// BROWSERS

// A browser starts when it comes near: most readers never get to the last one.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      BROWSERS[target.dataset.browser](scoped(target));
    }
  },
  { rootMargin: "1200px" },
);
for (const root of document.querySelectorAll("[data-browser]")) near.observe(root);

const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash.slice(1), link]));
const read = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(target.id);
      link?.setAttribute("aria-current", "true");
      const bar = link?.closest("ul");
      if (bar && bar.scrollWidth > bar.clientWidth) bar.scrollLeft = link.offsetLeft - bar.clientWidth / 3;
    }
  },
  { rootMargin: "-15% 0px -75% 0px" },
);
for (const chapter of document.querySelectorAll("main > section")) read.observe(chapter);
