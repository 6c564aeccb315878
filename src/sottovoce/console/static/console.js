// Replaces the part of the page that changes when the server says that something did, but never
// while somebody types there: what was typed would be lost.
"use strict";
(function () {
  var live = document.getElementById("live");
  if (!live || !window.EventSource) { return; }
  var source = new EventSource("/events");
  var waiting = false;
  var again = false;

  function inUse() {
    var active = document.activeElement;
    if (active && live.contains(active) && /INPUT|SELECT|TEXTAREA/.test(active.tagName)) { return true; }
    return Array.from(live.querySelectorAll("input:not([type=hidden]), textarea")).some(function (field) {
      return field.type === "file" ? field.files.length > 0 : field.value !== field.defaultValue;
    });
  }

  function refresh() {
    if (inUse()) { window.setTimeout(refresh, 1000); return; }
    fetch(window.location.href, { credentials: "same-origin" })
      .then(function (answer) { return answer.text(); })
      .then(function (text) {
        if (inUse()) { window.setTimeout(refresh, 1000); return; }
        var fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
        if (fresh) { live.replaceChildren.apply(live, Array.from(fresh.childNodes)); }
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
