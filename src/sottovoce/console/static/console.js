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
