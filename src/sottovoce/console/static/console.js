// Replaces the parts of the page that changed when the server says that something did, but never
// one in which somebody types: what was typed would be lost.
"use strict";
(function () {
  var live = document.getElementById("live");
  if (!live || !window.EventSource) { return; }
  var source = new EventSource("/events");
  var waiting = false;
  var again = false;

  function inUse(part) {
    var active = document.activeElement;
    if (active && part.contains(active) && /INPUT|SELECT|TEXTAREA/.test(active.tagName)) { return true; }
    return Array.from(part.querySelectorAll("input:not([type=hidden]), textarea")).some(function (field) {
      if (field.type === "checkbox") { return field.checked !== field.defaultChecked; }
      return field.type === "file" ? field.files.length > 0 : field.value !== field.defaultValue;
    });
  }

  // What was unfolded stays so, and the focus stays where it was.
  function put(fresh, old) {
    var active = document.activeElement;
    var focus = old.contains(active) && Array.from(fresh.querySelectorAll(active.tagName)).find(function (one) {
      return one.textContent === active.textContent;
    });
    Array.from(old.querySelectorAll("details[open]")).forEach(function (details) {
      var same = details.id && fresh.querySelector("#" + CSS.escape(details.id));
      if (same) { same.open = true; }
    });
    old.replaceWith(fresh);
    if (focus) { focus.focus({ preventScroll: true }); }
  }

  function shape(part) {
    var copy = part.cloneNode(true);
    Array.from(copy.querySelectorAll("details[open]")).forEach(function (details) { details.removeAttribute("open"); });
    return copy.outerHTML;
  }

  // Whether anything that changed is in use, and must wait.
  function renew(fresh) {
    var news = Array.from(fresh.children), olds = Array.from(live.children);
    var heads = function (parts) { return parts.map(function (part) { return part.tagName + (part.querySelector("h2") || {}).textContent; }).join("\n"); };
    if (heads(news) !== heads(olds)) {
      if (olds.some(inUse)) { return false; }
      live.replaceChildren.apply(live, news);
      return true;
    }
    return olds.map(function (old, place) {
      if (shape(old) === shape(news[place])) { return true; }
      if (inUse(old)) { return false; }
      put(news[place], old);
      return true;
    }).every(Boolean);
  }

  function refresh() {
    fetch(window.location.href, { credentials: "same-origin" })
      .then(function (answer) { return answer.text(); })
      .then(function (text) {
        var fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
        if (fresh && !renew(fresh)) { window.setTimeout(refresh, 1000); return; }
        done();
      })
      .catch(done);
  }

  // What changed while a page was on its way is not on that page.
  function done() {
    waiting = again;
    again = false;
    if (waiting) { refresh(); }
  }

  source.addEventListener("changed", function () {
    if (waiting) { again = true; } else { waiting = true; refresh(); }
  });
  window.addEventListener("pagehide", function () { source.close(); });
})();

// Small conveniences; every page works without them.
(function () {
  document.addEventListener("click", function (event) {
    var from = event.target.getAttribute && event.target.getAttribute("data-copies");
    if (from && navigator.clipboard) {
      navigator.clipboard.writeText(document.getElementById(from).textContent)
        .then(function () { event.target.textContent = "Copied"; });
    }
  });
  var print = document.querySelector("button.print");
  if (print) { print.hidden = false; print.addEventListener("click", function () { window.print(); }); }
  // What is folded on the screen is on the paper.
  window.addEventListener("beforeprint", function () {
    Array.from(document.querySelectorAll("details")).forEach(function (details) { details.open = true; });
  });

  // A file that is dropped on a form becomes the file of its field.
  function formAt(event) { return event.target.closest ? event.target.closest("form.drops") : null; }
  document.addEventListener("dragover", function (event) {
    var form = formAt(event);
    if (form) { event.preventDefault(); form.classList.add("over"); }
  });
  document.addEventListener("dragleave", function (event) {
    var form = formAt(event);
    if (form) { form.classList.remove("over"); }
  });
  document.addEventListener("drop", function (event) {
    var form = formAt(event);
    if (!form || !event.dataTransfer.files.length) { return; }
    event.preventDefault();
    form.classList.remove("over");
    form.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
})();
