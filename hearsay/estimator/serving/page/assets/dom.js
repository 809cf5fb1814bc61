// Elements are made once and changed in place: focus, scroll and a drag survive every update.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children; `on…` attributes are listeners. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  set(node, attributes);
  node.append(...children);
  return node;
}

/** Set attributes that changed; null removes one. Text from the server only ever becomes text. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

/** Set the text of an element where it changed. */
export function text(node, words) {
  if (node.textContent !== words) node.textContent = words;
  return node;
}

/** Show or hide without removing. */
export function show(node, visible) {
  node.hidden = !visible;
}

/**
 * Keep one child of `parent` for each item. Children are reused in order: an update never replaces an element, it only
 * adds at the end or removes what is too many.
 */
export function repeat(parent, items, make, update) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  items.forEach((item, index) => {
    if (index >= parent.children.length) parent.append(make(item, index));
    update(parent.children[index], item, index);
  });
}
