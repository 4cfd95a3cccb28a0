// Elements. Whatever comes from the report becomes a text node or an attribute's value, never markup.

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  return dress(element, attributes, children);
};

const draw = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return dress(element, attributes, children);
};

const dress = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== ""));
  return element;
};

const at = (id) => document.getElementById(id);

// A text in which whatever an eye would not see as itself is written out, as everywhere else in a report.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const NAMED = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const show = (text) => text.replace(HIDDEN, (hidden) => NAMED[hidden] ?? `\\u{${hidden.codePointAt(0).toString(16)}}`);

const code = (text, attributes = {}) => make("code", attributes, make("bdi", {}, show(text)));

const link = (kind, name) => `#${kind}-${encodeURIComponent(name)}`;

const number = (value) => value.toLocaleString("en-US");

const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

const sign = (severity) =>
  make(
    "span",
    { class: `sign ${severity}`, title: severity },
    make("span", { "aria-hidden": "true" }, severity[0].toUpperCase()),
    make("span", { class: "unseen" }, severity),
  );

