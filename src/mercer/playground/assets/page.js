// The controls of the playground: they send events, and show what they are told.
window.playground = (() => {
  "use strict";
  const by = (id) => document.getElementById(id);
  const waiting = new Map(); // when the events without an answer were sent
  const latencies = []; // milliseconds from an event to the picture of it
  const PATIENCE = 60000; // milliseconds without an answer; a first fit compiles
  const FOLDS = 5; // of cross-validation
  const MOVED = 4; // pixels from which on a press is a drag
  const REACH = {mouse: 13, pen: 15, touch: 22}; // pixels to a point that count as on it
  let inbox = null, sources = null, axes = null, plane = null, map = null; // models of Bokeh
  let shown = null, last = 0, held = null, moving = "", pressed = null, latest = null;

  function send(event) {
    if (inbox === null) return;
    event.id = ++last;
    const id = event.id;
    waiting.set(id, performance.now());
    document.body.classList.add("busy"); // CSS dims the picture if this lasts
    setTimeout(() => {
      if (waiting.has(id)) complain("The playground does not answer. Was it stopped? Then start it again.");
    }, PATIENCE);
    inbox.data = {json: [JSON.stringify(event)]};
  }

  // Of a movement only the latest place counts: it waits until the one before has been drawn.
  function sendLatest(event) {
    if (waiting.size) latest = event;
    else send(event);
  }

  function sendWaiting() {
    const event = latest;
    latest = null;
    if (event) send(event);
  }

  // ---------------------------------------------------------------- what is shown

  function show(words) {
    shown = words;
    const title = words.query ? "?" + words.query : location.pathname;
    history.replaceState(null, "", title);
    by("machine").value = words.machine;
    by("kernel").value = words.kernel;
    by("formula").textContent = words.formula;
    by("preset").value = words.preset;
    by("count").textContent = words.n;
    by("why-text").textContent = words.why.text;
    by("why").dataset.key = words.why.key;
    by("undo").disabled = !words.can_undo;
    by("redo").disabled = !words.can_redo;
    by("clear").disabled = words.n === 0;
    by("code").textContent = words.code;
    const message = by("message");
    message.hidden = !words.message;
    message.textContent = words.message;
    message.classList.toggle("error", words.is_error);
    for (const tool of document.querySelectorAll(".tool")) {
      const on = Number(tool.dataset.tool) === words.tool, name = words.classes[tool.dataset.tool];
      if (name) {
        tool.lastElementChild.textContent = name;
        tool.title = `Add points of class ${name} (key ${Number(tool.dataset.tool) + 1})`;
      }
      tool.setAttribute("aria-checked", on);
      tool.tabIndex = on ? 0 : -1;
    }
    showFigures(words);
    window.linked.show(words.linked);
    window.lift.show(words.lift, words.columns);
    showWritten(words);
    showParameters(words);
    showRows("rows", words.rows);
    showHeldOut(words);
    showLegend(words);
    showSteps(words);
    by("trace-panel").hidden = !words.has_trace;
    by("latency").textContent = words.took ? `The fit took ${words.took}.` : "";
    document.body.dataset.echo = words.echo ?? "";
    if (words.is_drawn) document.body.dataset.ready = "yes";
    answered(words.echo);
  }

  const entries = (map) => (map instanceof Map ? [...map] : Object.entries(map));

  function showFigures(words) {
    for (const [name, source] of entries(sources)) source.data = words.columns[name];
    for (const [name, [axis, range]] of entries(axes)) {
      const told = words.axes[name];
      if (!told) continue;
      axis.axis_label = told.name;
      if (!told.ticks) continue;
      range.setv({start: told.start, end: told.end});
      axis.ticker.ticks = told.ticks;
      axis.major_label_overrides = new Map(told.ticks.map((tick, k) => [tick, told.texts[k]]));
    }
  }

  function answered(echo) {
    for (const [id, sent] of waiting) {
      if (id > echo) continue;
      waiting.delete(id);
      requestAnimationFrame(() => latencies.push(performance.now() - sent));
    }
    if (!waiting.size) sendWaiting();
    document.body.classList.toggle("busy", waiting.size > 0 || !shown.is_drawn);
  }

  function showParameters(words) {
    const home = by("parameters");
    const names = words.parameters.map((p) => p.name + p.can_be_hard).join();
    if (home.dataset.names !== names) {
      home.replaceChildren(...words.parameters.map(makeParameter));
      home.dataset.names = names;
    }
    for (const p of words.parameters) {
      const input = by("parameter-" + p.name), text = by("value-" + p.name);
      if (held !== input) input.value = p.value === null ? input.max : position(p, p.value);
      input.disabled = p.value === null;
      text.textContent = p.value === null ? "∞" : format(p.value);
      input.setAttribute("aria-valuetext", text.textContent);
      const hard = by("hard-" + p.name);
      if (hard) hard.checked = p.value === null;
    }
  }

  const position = (p, value) => (p.is_log ? Math.log10(value) : value);
  const format = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");

  function makeParameter(p) {
    const box = make("div", {className: "parameter"});
    const label = make("label", {htmlFor: "parameter-" + p.name, textContent: p.title + " "});
    label.append(make("output", {id: "value-" + p.name}));
    const input = make("input", {
      type: "range", id: "parameter-" + p.name, step: p.step,
      min: position(p, p.low), max: position(p, p.high),
    });
    input.setAttribute("aria-describedby", "help-" + p.name);
    input.addEventListener("input", () => {
      const raw = Number(input.value);
      const value = p.is_log ? Number((10 ** raw).toPrecision(3)) : raw;
      by("value-" + p.name).textContent = format(value);
      sendLatest({do: "set", name: p.name, value, more: moving === p.name});
      moving = p.name; // one movement is one undo
    });
    input.addEventListener("pointerdown", () => { held = input; moving = ""; });
    for (const end of ["pointerup", "pointercancel", "change"])
      input.addEventListener(end, () => { held = null; moving = ""; });
    box.append(label, input, make("p", {className: "help", id: "help-" + p.name, textContent: p.help}));
    if (p.can_be_hard) {
      const hard = make("label", {className: "hard"});
      const tick = make("input", {type: "checkbox", id: "hard-" + p.name});
      tick.addEventListener("change", () => {
        send({do: "set", name: p.name, value: tick.checked ? "inf" : p.high});
      });
      hard.append(tick, "C = ∞ (hard margin)");
      box.append(hard);
    }
    return box;
  }

  function make(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

  function showRows(id, rows) {
    by(id).replaceChildren(...rows.map(([name, value]) => {
      const row = make("tr", {});
      row.append(make("td", {textContent: name}), make("td", {textContent: value}));
      return row;
    }));
  }

  function showHeldOut(words) {
    by("hold").checked = words.folds > 0;
    by("held-hint").hidden = words.folds > 0;
    showRows("errors", words.held_out.rows);
    by("verdict").textContent = words.held_out.text;
    by("verdict").hidden = !words.held_out.text;
    by("map-panel").hidden = !words.held_out.has_map;
  }

  // What was typed stays where it was not understood.
  function showWritten(words) {
    const input = by("written"), wrong = words.is_error && input.value !== words.written && !by("written-panel").hidden;
    by("written-panel").hidden = !words.is_written;
    input.setAttribute("aria-invalid", wrong);
    if (!wrong && document.activeElement !== input) input.value = words.written;
    by("understood").textContent = wrong ? words.message : "= " + words.understood;
  }

  function showLegend(words) {
    by("legend").replaceChildren(...words.legend.map(([look, name, count]) => {
      const item = make("li", {});
      item.append(make("span", {className: "dot " + look}), name);
      if (count !== null) item.append(make("b", {textContent: count}));
      return item;
    }));
  }

  function showSteps(words) {
    const on = words.step !== null, can = !words.no_steps;
    by("step-count").textContent = on ? `after ${words.step}` : "";
    for (const id of ["step", "ten", "run"]) by(id).disabled = !can;
    for (const id of ["back", "finish"]) by(id).disabled = !on;
    by("step").textContent = on ? "Step" : "Start";
    by("run").textContent = words.is_running ? "Pause" : "Run";
    by("run").classList.toggle("on", words.is_running);
    by("step-hint").textContent = !can ? words.no_steps
      : on ? "" : `Watch it learn, one ${words.unit} at a time.`;
    by("box-panel").hidden = !words.has_box;
  }

  // ---------------------------------------------------------------- what is done

  function listen() {
    by("machine").addEventListener("change", (e) => send({do: "machine", value: e.target.value}));
    by("kernel").addEventListener("change", (e) => send({do: "kernel", value: e.target.value}));
    by("written").addEventListener("change", (e) => send({do: "formula", value: e.target.value}));
    by("preset").addEventListener("change", (e) => {
      if (e.target.value) send({do: "preset", value: e.target.value});
      else by("preset").value = shown.preset;
    });
    for (const tool of document.querySelectorAll(".tool"))
      tool.addEventListener("click", () => send({do: "tool", value: Number(tool.dataset.tool)}));
    const simple = {
      undo: {do: "undo"}, redo: {do: "redo"}, clear: {do: "clear"}, step: {do: "step"},
      back: {do: "step", by: -1}, ten: {do: "step", by: 10}, run: {do: "run"}, finish: {do: "finish"},
    };
    for (const [id, event] of Object.entries(simple))
      by(id).addEventListener("click", () => send({...event}));
    by("hold").addEventListener("change", (e) => send({do: "folds", value: e.target.checked ? FOLDS : 0}));
    by("map").addEventListener("click", (e) => {
      const at = place(e, map);
      if (at.inside) send({do: "choose", x: at.x, y: at.y});
    });
    by("share").addEventListener("click", share);
    by("copy").addEventListener("click", () => copy(shown.code, by("copy")));
    by("file").addEventListener("change", upload);
    by("file-button").addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") by("file").click();
    });
    document.addEventListener("keydown", press);
    const home = by("plane");
    home.addEventListener("pointerdown", pointerDown);
    home.addEventListener("pointermove", pointerMove);
    home.addEventListener("pointerup", pointerUp);
    home.addEventListener("pointerleave", () => { if (!pressed) window.linked.point(null); });
    home.addEventListener("pointercancel", () => { pressed = null; });
  }

  // Where a pointer is, in units of a figure, and whether that is inside of its axes.
  function place(event, figure = plane) {
    const view = window.Bokeh.index.get_by_id(figure.id);
    const area = view.canvas_view.events_el.getBoundingClientRect();
    const [sx, sy] = [event.clientX - area.left, event.clientY - area.top];
    const {x_scale, y_scale, bbox} = view.frame;
    const unit = Math.abs(x_scale.invert(1) - x_scale.invert(0));
    const reach = unit * (REACH[event.pointerType] ?? REACH.mouse);
    const inside = sx >= bbox.left && sx <= bbox.right && sy >= bbox.top && sy <= bbox.bottom;
    return {x: x_scale.invert(sx), y: y_scale.invert(sy), reach, inside};
  }

  function pointerDown(event) {
    const at = place(event);
    if (!event.isPrimary || event.button !== 0 || !at.inside) return;
    pressed = {at, x: event.clientX, y: event.clientY, moves: false};
    by("plane").focus({preventScroll: true});
  }

  // The number of the point under the pointer, or null.
  function nearest(event) {
    const points = (sources instanceof Map ? sources.get("points") : sources.points).data;
    const {x, y, reach} = place(event);
    let least = reach, found = null;
    for (let i = 0; i < points.x.length; i++) {
      const far = Math.hypot(points.x[i] - x, points.y[i] - y);
      if (far <= least) [least, found] = [far, i];
    }
    return found;
  }

  function pointerMove(event) {
    if (!pressed && shown) window.linked.point(nearest(event));
    if (!pressed || !event.isPrimary) return;
    const far = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > MOVED;
    if (!pressed.moves && far) {
      pressed.moves = true;
      send({do: "drag-start", ...pressed.at});
    }
    if (pressed.moves) sendLatest({do: "drag", ...place(event)});
  }

  function pointerUp(event) {
    if (!pressed || !event.isPrimary) return;
    if (pressed.moves) {
      latest = null;
      send({do: "drag", ...place(event)});
      send({do: "drag-end"});
    } else send({do: "tap", ...pressed.at});
    pressed = null;
  }

  async function upload(event) {
    const file = event.target.files[0];
    event.target.value = "";
    if (!file) return;
    if (file.size > 500000) complain("The file is larger than 500 kB; some hundred rows are enough here.");
    else send({do: "upload", text: await file.text()});
  }

  function complain(text) {
    by("message").hidden = false;
    by("message").textContent = text;
    by("message").classList.add("error");
  }

  const share = () => copy(location.href, by("share"));

  async function copy(text, button) {
    button.dataset.name ??= button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      complain("The browser does not allow copying here: take the address from its bar.");
    }
    setTimeout(() => { button.textContent = button.dataset.name; }, 1200);
  }

  const KEYS = {
    e: {do: "tool", value: 4}, delete: {do: "delete"}, backspace: {do: "delete"}, z: {do: "undo"},
    y: {do: "redo"}, s: {do: "step"}, b: {do: "step", by: -1}, r: {do: "run"}, f: {do: "finish"},
  };
  const ARROWS = {arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, 1], arrowdown: [0, -1]};

  function press(event) {
    if (event.altKey || event.isComposing || event.target.type === "text") return;
    const key = event.key.toLowerCase(), command = event.ctrlKey || event.metaKey;
    if (command) {
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      send({do: key === "y" || event.shiftKey ? "redo" : "undo"});
      return;
    }
    if (event.target.tagName === "SELECT") return; // letters choose an option there
    if (by("plane").contains(event.target)) {
      if (key in ARROWS) {
        event.preventDefault();
        const [x, y] = ARROWS[key];
        send({do: "cursor", x, y});
        return;
      }
      if (key === "enter" || key === " ") {
        event.preventDefault();
        send({do: "press"});
        return;
      }
    }
    if (key >= "1" && key <= "4") send({do: "tool", value: Number(key) - 1});
    else if (key === "l") share();
    else if (key in KEYS) {
      event.preventDefault();
      send({...KEYS[key]});
    }
  }

  function start(models) {
    ({inbox, sources, axes, plane, map} = models);
    const target = models.outbox;
    listen();
    window.linked.start(sources);
    window.lift.start();
    const read = () => show(JSON.parse(target.data.json[0]));
    target.properties.data.change.connect(read);
    read();
  }

  return {start, latencies, isBusy: () => waiting.size > 0 || latest !== null || !shown?.is_drawn};
})();
