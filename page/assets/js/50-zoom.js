// Charts that zoom take the place of the figures that the server drew, when these
// come near the window. A figure stays where its chart cannot be had.
const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    zoom(target);
  }
}, { rootMargin: "200px" });
const watch = (under) => $$("[data-zoom]", under).forEach((box) => near.observe(box));
document.addEventListener("fresh", (event) => watch(event.detail));
watch(document);

// Colours are those of the page, in rgb. They change with its theme.
let colours = {};
const painted = new Map(); // what draws each chart again
function colour(name) {
  if (!colours[name]) {
    const probe = document.body.appendChild(make("i"));
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
    probe.remove();
  }
  return colours[name];
}
function repaint() {
  colours = {};
  for (const [host, again] of painted) host.isConnected ? again() : painted.delete(host);
}
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

const got = {}; // scripts and style sheets
function get(tag, at, made) {
  return (got[at] ??= new Promise((onload, onerror) => document.head.append(make(tag, { ...made, onload, onerror }))));
}

async function zoom(box) {
  const { zoom: src, sheet: href, at } = box.dataset, figure = box.firstElementChild;
  const ask = async (query) => {
    const answer = await fetch(at + new URLSearchParams(query));
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  };
  try {
    const [from, to] = [box.dataset.from, box.dataset.to].map((time) => Date.parse(time) / 1000);
    const [data] = await Promise.all([ask(href ? {} : around(from, to)), get("script", src, { src }), href && get("link", href, { rel: "stylesheet", href })]);
    const host = make("div", { className: "zoom", role: "img", ariaLabel: figure.ariaLabel }), bar = make("div", { className: "zbar" });
    const said = bar.appendChild(make("span", { className: "meta" }));
    host.style.height = figure.offsetHeight + "px";
    figure.hidden = true;
    box.append(host, bar);
    const [move, again] = (href ? lines : candles)(host, data, later(ask), (text) => (said.textContent = text), from, to, box.dataset.scale);
    for (const [textContent, title, ...by] of [["◂", "Earlier", 1, -0.5], ["▸", "Later", 1, 0.5], ["−", "Zoom out", 2, 0], ["+", "Zoom in", 0.5, 0], ["Reset", "Reset"]]) {
      bar.append(make("button", { textContent, title, ariaLabel: title, className: "btn sm", onclick: () => move(...by) }));
    }
    painted.set(host, again);
  } catch {
    figure.hidden = false;
    $$(".zoom, .zbar", box).forEach((made) => made.remove());
  }
}

// later asks when a reader has come to rest, and drops the answer to an older question.
function later(ask) {
  let timer, asked = 0;
  return (query, then) => {
    clearTimeout(timer);
    const mine = ++asked;
    timer = setTimeout(() => ask(query).then((data) => mine === asked && then(data), () => {}), 200);
  };
}

const between = (from, to, points) => ({ from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString(), points });
const around = (from, to) => between(2 * from - to, 2 * to - from, 500);
const words = (seconds, style) => new Date(seconds * 1000).toLocaleString("en-GB", style || { dateStyle: "medium", timeStyle: "short" });
const steps = [{ year: "numeric" }, { month: "short", year: "numeric" }, { day: "numeric", month: "short" }, { timeStyle: "short" }, { timeStyle: "medium" }];
const font = () => getComputedStyle(document.body).fontFamily;

// candles draws bars with trades by lightweight-charts. Three times what is seen is
// there. More is asked for beyond it, and where a candle is of several bars.
function candles(host, data, ask, tell, from, to) {
  const ink = () => colour("ink3");
  const look = () => ({
    layout: { attributionLogo: false, background: { color: "transparent" }, textColor: colour("ink2"), fontFamily: font(), fontSize: 11 },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("line") } },
  });
  const body = () => ({ upColor: colour("bg"), downColor: ink(), borderColor: ink(), wickColor: ink() });
  const precision = Math.max(0, 4 - Math.floor(Math.log10(data.bars[0][4])));
  const chart = LightweightCharts.createChart(host, {
    ...look(), autoSize: true, handleScroll: { vertTouchDrag: false }, localization: { timeFormatter: (at) => words(at) },
    rightPriceScale: { visible: false }, leftPriceScale: { visible: true, borderVisible: false, mode: 1, minimumWidth: 60 },
    timeScale: { borderVisible: false, timeVisible: true, tickMarkFormatter: (at, step) => words(at, steps[step]) },
  });
  const series = chart.addSeries(LightweightCharts.CandlestickSeries, {
    ...body(), priceScaleId: "left", priceFormat: { precision, minMove: 10 ** -precision }, priceLineVisible: false, lastValueVisible: false,
  });
  const time = chart.timeScale(), start = [from, to];
  series.attachPrimitive({ paneViews: () => [{ renderer: () => ({ draw: (on) => on.useMediaCoordinateSpace(({ context }) => marks(context)) }) }] });

  // marks draws where a trade was entered, where it was left, and a line between.
  function marks(c) {
    for (const t of data.trades) {
      const [x1, x2] = [t.from, t.to].map((i) => time.logicalToCoordinate(i)), [y1, y2] = [t.entry, t.exit].map((p) => series.priceToCoordinate(p));
      const up = t.long ? 1 : -1;
      c.strokeStyle = c.fillStyle = colour(t.won ? "accent" : "loss");
      c.lineWidth = 1.5;
      c.setLineDash(t.won ? [] : [4, 3]);
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      c.moveTo(x1, y1 + 2 * up);
      c.lineTo(x1 - 5, y1 + 10 * up);
      c.lineTo(x1 + 5, y1 + 10 * up);
      c.fill();
      c.beginPath();
      c.arc(x2, y2, 3.5, 0, 7);
      c.fillStyle = colour("bg");
      c.fill();
      c.stroke();
    }
  }

  // Places are counted by candles, and continue beyond the first and the last.
  let bars, end, width, asked, quiet;
  const timeAt = (i) => bars[Math.round(i)]?.[0] ?? (i < 0 ? bars[0][0] + i * width : bars[end][0] + (i - end) * width);
  const placeOf = (at) => {
    const i = bars.findIndex((bar) => bar[0] >= at);
    return i > 0 ? i : i ? end + (at - bars[end][0]) / width : (at - bars[0][0]) / width;
  };
  const see = (from, to) => time.setVisibleLogicalRange({ from: placeOf(from) - 0.5, to: placeOf(to) + 0.5 });

  function show(fresh, from, to) {
    if (!fresh.bars.length) return;
    data = fresh;
    bars = data.bars;
    end = bars.length - 1;
    width = (bars[end][0] - bars[0][0]) / end || 60;
    asked = [2 * from - to, 2 * to - from];
    quiet = Date.now() + 100; // what follows is no act of the reader
    series.setData(bars.map(([time, open, high, low, close]) => ({ time, open, high, low, close })));
    see(from, to);
    tell((data.merged > 1 ? `${data.merged} bars in one candle. ` : "") + (data.many ? `${data.many} trades: zoom in to see them.` : ""));
  }
  show(data, from, to);

  time.subscribeVisibleLogicalRangeChange((seen) => {
    if (!seen || Date.now() < quiet) return;
    const more = (seen.from < 0 && asked[0] > data.from) || (seen.to > end + 1 && asked[1] < data.to);
    if (!more && (data.merged < 2 || seen.to - seen.from > end / 6)) return;
    const from = timeAt(seen.from), to = timeAt(seen.to);
    ask(around(from, to), (fresh) => show(fresh, from, to));
  });
  // The wheel is the page's, unless the reader holds Ctrl or pinches.
  host.addEventListener("wheel", (event) => event.ctrlKey || event.metaKey || event.stopPropagation(), { capture: true });
  return [
    (by, shift) => {
      if (!by) return ask(around(...start), (fresh) => show(fresh, ...start));
      quiet = 0;
      const { from, to } = time.getVisibleLogicalRange(), middle = (from + to) / 2 + shift * (to - from), half = ((to - from) * by) / 2;
      time.setVisibleLogicalRange({ from: middle - half, to: middle + half });
    },
    () => {
      chart.applyOptions(look());
      series.applyOptions(body());
    },
  ];
}

// lines draws the equity by uPlot. What is seen of the test part is asked for bar
// by bar. On a logarithmic scale it draws logarithms.
function lines(host, data, ask, tell, _from, _to, kind) {
  const log = kind === "log", into = log ? Math.log : Number, back = log ? Math.exp : Number;
  const columns = (d) => [d.time, ...[d.fitted, d.hold, d.luck, d.account].map((list) => list.map((v) => (v === null ? v : into(v))))];
  const first = data.zones[0].from, last = data.zones.at(-1).to;
  let view = [first, last], held;
  const line = (name, width, more) => ({ stroke: () => colour(name), width, points: { show: false }, ...more });
  const axis = { stroke: () => colour("ink2"), font: "11px " + font(), ticks: { show: false } };
  const size = () => ({ width: host.clientWidth, height: host.clientHeight });
  const plot = new uPlot({
    ...size(), legend: { show: false }, padding: [10, 0, 0, 0], cursor: { y: false, points: { show: false }, drag: { x: false } },
    scales: { x: { range: () => view } },
    axes: [
      { ...axis, grid: { show: false }, space: 90, values: (u, list, i, space, step) => list.map((at) => words(at, steps[step < 86400 ? 3 : step < 2e6 ? 2 : 1])) },
      {
        ...axis, size: 50, grid: { stroke: () => colour("line"), width: 1 }, values: (u, list) => list.map((v) => +back(v).toFixed(4)),
        splits: (u, i, low, high) => round(back(low), back(high)).map(into),
      },
    ],
    series: [{}, line("accent", 1.2, { alpha: 0.55 }), line("market", 1.2), line("luck", 1.4, { dash: [5, 4] }), line("accent", 1.6)],
    hooks: { drawClear: [(u) => zones(u, data.zones)], setCursor: [read] },
  }, columns(data), host);

  function read(u) {
    const i = u.cursor.idx, says = (name, k) => (u.data[k][i] == null ? "" : `, ${name} ${back(u.data[k][i]).toFixed(4)}`);
    tell(i == null ? "" : words(u.data[0][i]) + says("in sample", 1) + says("strategy", 4) + says("buy and hold", 2) + says("luck", 3));
  }
  const draw = () => plot.setScale("x", { min: view[0], max: view[1] });
  function go(from, to) {
    const span = Math.min(Math.max(to - from, 3600), last - first);
    from = Math.min(Math.max((from + to - span) / 2, first), last - span);
    view = [from, from + span];
    draw();
    ask(span < last - first ? between(...view, 400) : {}, (fresh) => {
      data = fresh;
      $("#underwater").innerHTML = data.underwater;
      plot.setData(columns(data), false);
      draw();
    });
  }
  const move = (by, shift, at = 0.5) => {
    if (!by) return go(first, last);
    const span = view[1] - view[0], from = view[0] + span * (shift + at * (1 - by));
    go(from, from + span * by);
  };

  const over = plot.over;
  over.onpointerdown = (event) => {
    held = [event.clientX, ...view];
    over.setPointerCapture(event.pointerId);
  };
  over.onpointermove = (event) => {
    const by = held && ((held[0] - event.clientX) / over.clientWidth) * (held[2] - held[1]);
    if (by) go(held[1] + by, held[2] + by);
  };
  over.onpointerup = over.onpointercancel = () => (held = 0);
  over.onwheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    move(event.deltaY > 0 ? 1.2 : 1 / 1.2, 0, event.offsetX / over.clientWidth);
  };
  new ResizeObserver(() => plot.setSize(size())).observe(host);
  return [move, () => plot.redraw()];
}

// round are about five round numbers.
function round(low, high) {
  const rough = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((n) => n * ten >= rough) * ten;
  const list = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) list.push(v);
  return list;
}

// zones shades the parts of the data and writes their names.
function zones(u, list) {
  const c = u.ctx, { left, top, width, height } = u.bbox, one = devicePixelRatio;
  c.save();
  c.beginPath();
  c.rect(left, top, width, height);
  c.clip();
  c.font = `${11 * one}px ${font()}`;
  c.textAlign = "left";
  for (const zone of list) {
    const [from, to] = [zone.from, zone.to].map((at) => u.valToPos(at, "x", true));
    const fill = (name, width) => {
      c.fillStyle = colour(name);
      c.fillRect(from, top, width, height);
    };
    if (zone.class !== "te") fill(zone.class === "ho" ? "accent2" : "sunk", to - from);
    fill("line2", one);
    c.fillStyle = colour("ink2");
    c.fillText(zone.name, Math.max(from, left) + 6, top + 14 * one, to - from - 8);
  }
  c.restore();
}
