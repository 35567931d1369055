// Additions to a page that is complete without them: tables are sorted by a click on a title, drawings
// are scrolled to their middle, and folded parts are open on paper.
"use strict";

(function () {
  // The number that a cell begins with, in base units, so that "12 us" stands before "3 ms".
  var units = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824 };
  function value_of(cell) {
    var text = cell.textContent.trim();
    var found = /^[+\u2212-]?[\d,]*\.?\d+(?:e[+-]?\d+)?/i.exec(text);
    if (!found) return null;
    var unit = /^\s*([A-Za-z]+)/.exec(text.slice(found[0].length));
    var number = parseFloat(found[0].replace(/,/g, "").replace("\u2212", "-"));
    return number * (unit && units[unit[1]] ? units[unit[1]] : 1);
  }

  function sort(table, column, descending) {
    var body = table.tBodies[0];
    var rows = Array.from(body.rows);
    var last = rows.filter(function (row) { return row.className === "total"; });
    rows = rows.filter(function (row) { return row.className !== "total"; });
    rows.sort(function (a, b) {
      var x = value_of(a.cells[column]);
      var y = value_of(b.cells[column]);
      var order = x !== null && y !== null
        ? x - y
        : a.cells[column].textContent.localeCompare(b.cells[column].textContent);
      return descending ? -order : order;
    });
    rows.concat(last).forEach(function (row) { body.appendChild(row); });
  }

  document.querySelectorAll("table.sortable thead th").forEach(function (title) {
    var button = document.createElement("button");
    button.type = "button";
    while (title.firstChild) button.appendChild(title.firstChild);
    title.appendChild(button);
    button.addEventListener("click", function () {
      var descending = title.getAttribute("aria-sort") === "ascending";
      title.parentNode.querySelectorAll("th").forEach(function (other) {
        other.removeAttribute("aria-sort");
      });
      title.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(title.closest("table"), title.cellIndex, descending);
    });
  });

  // A drawing begins with its middle: its roots, or its first operators.
  document.querySelectorAll(".drawing").forEach(function (box) {
    box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
  });

  // Browsers print a closed part closed.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (part) { part.open = false; });
  });

  document.documentElement.classList.add("ready");
})();
