// The table of the page of operators: filtered as one types, a part at a time.
(() => {
  const AT_ONCE = 100;
  const rows = Object.entries(OPERATORS).flatMap(([status, names]) =>
    names.split(" ").filter(Boolean).map(text => {
      const [name, since = "", error = ""] = text.split("|");
      return {name, status, since, error};
    })).sort((a, b) => a.name < b.name ? -1 : 1);

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const box = make("input", {type: "search", placeholder: "a part of a name, such as conv",
                             "aria-label": "find operators", autocomplete: "off"});
  const choice = make("select", {"aria-label": "status"}, make("option", {value: ""}, "every status"),
    ...Object.keys(OPERATORS).map(status => make("option", {value: status}, status)));
  const told = make("p", {class: "told", role: "status"});
  const body = make("tbody", {});
  const more = make("button", {type: "button", class: "md-button"}, "Show all");
  const heads = ["operator", "status", "since", "the error names"];

  function show(limit) {
    const wanted = box.value.trim().toLowerCase().replace(/^aten::/, "");
    const found = rows.filter(row => row.name.toLowerCase().includes(wanted) &&
                                     (!choice.value || row.status === choice.value));
    body.replaceChildren(...found.slice(0, limit).map(row => make("tr", {},
      make("td", {}, make("code", {}, row.name)),
      make("td", {class: row.status.replace(" ", "-")}, row.status),
      make("td", {}, row.since),
      make("td", {}, row.error ? make("code", {}, row.error) : ""))));
    told.textContent = found.length + (found.length === 1 ? " operator" : " operators");
    more.hidden = found.length <= limit;
  }

  box.addEventListener("input", () => show(AT_ONCE));
  choice.addEventListener("change", () => show(AT_ONCE));
  more.addEventListener("click", () => show(Infinity));
  const table = make("table", {}, make("thead", {}, make("tr", {},
    ...heads.map(text => make("th", {scope: "col"}, text)))), body);
  document.getElementById("operators").replaceChildren(
    make("div", {class: "find"}, box, choice), told,
    make("div", {class: "scroll"}, table), more);
  show(AT_ONCE);
})();
