// Charts that zoom take the place of the figures that the server drew, when these
// come near the window. A figure stays where its chart cannot be had.
const near = new IntersectionObserver((seen) => {
  for (const entry of seen) {
    if (!entry.isIntersecting) continue;
    near.unobserve(entry.target);
    zoom(entry.target);
  }
}, { rootMargin: "200px" });
const watch = (under) => $$("[data-zoom]", under).forEach((box) => near.observe(box));
document.addEventListener("fresh", (event) => watch(event.detail));
watch(document);

// Colours are those of the page, in rgb. They change with its theme.
let colours = {}, paint = new Set();
function colour(name) {
  if (!colours[name]) {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
    probe.remove();
  }
  return colours[name];
}
function repaint() {
  colours = {};
  for (const again of paint) again();
}
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

const got = {};
const get = (tag, made) =>
  (got[made.src || made.href] ??= new Promise((onload, onerror) => document.head.append(Object.assign(document.createElement(tag), made, { onload, onerror }))));

async function zoom(box) {
  const { zoom: src, sheet, at } = box.dataset, figure = box.firstElementChild;
  const ask = async (query) => {
    const answer = await fetch(at + new URLSearchParams(query));
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  };
  try {
    await Promise.all([get("script", { src }), sheet && get("link", { rel: "stylesheet", href: sheet })]);
    const make = sheet ? lines : candles, data = await ask(make.first(box));
    const host = document.createElement("div"), bar = document.createElement("div");
    host.className = "zoom";
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", figure.getAttribute("aria-label"));
    host.style.height = figure.offsetHeight + "px";
    bar.className = "zbar";
    bar.innerHTML = '<span class="meta"></span><button class="btn sm" aria-label="Zoom out">−</button><button class="btn sm" aria-label="Zoom in">+</button><button class="btn sm">Reset</button>';
    figure.hidden = true;
    box.append(host, bar);
    const { scale, reset, again } = make(box, host, data, later(ask), (text) => (bar.firstChild.textContent = text));
    const [out, into, back] = $$("button", bar);
    out.onclick = () => scale(2);
    into.onclick = () => scale(0.5);
    back.onclick = reset;
    paint.add(again);
  } catch {
    figure.hidden = false;
    $$(".zoom, .zbar", box).forEach((made) => made.remove());
  }
}

// later asks when a reader has come to rest, and drops an answer to an older question.
function later(ask) {
  let timer, asked = 0;
  return (query, then) => {
    clearTimeout(timer);
    const mine = ++asked;
    timer = setTimeout(() => ask(query).then((data) => mine === asked && then(data), () => {}), 200);
  };
}

const instant = (seconds) => new Date(seconds * 1000).toISOString();
const shown = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
const font = () => getComputedStyle(document.body).fontFamily;

// candles draws bars with trades by lightweight-charts. Three times what is seen is
// there; more is asked for at its ends, and where a candle is of several bars.
function candles(box, host, data, ask, tell) {
  const look = () => ({
    layout: { attributionLogo: false, background: { color: "transparent" }, textColor: colour("ink2"), fontFamily: font(), fontSize: 11 },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("line") } },
  });
  const body = () => ({
    upColor: colour("bg"), downColor: colour("ink3"), borderColor: colour("ink3"), wickColor: colour("ink3"), priceLineVisible: false, lastValueVisible: false,
  });
  const digits = Math.max(0, Math.min(8, 4 - Math.floor(Math.log10(data.bars[0][4]))));
  const steps = [{ year: "numeric" }, { month: "short" }, { day: "numeric", month: "short" }, { timeStyle: "short" }, { timeStyle: "medium" }];
  const chart = LightweightCharts.createChart(host, {
    ...look(), autoSize: true, handleScroll: { vertTouchDrag: false }, localization: { timeFormatter: shown },
    rightPriceScale: { visible: false }, leftPriceScale: { visible: true, borderVisible: false, mode: 1, minimumWidth: 60 },
    timeScale: { borderVisible: false, timeVisible: true, tickMarkFormatter: (at, step) => new Date(at * 1000).toLocaleString("en-GB", steps[step]) },
  });
  const series = chart.addSeries(LightweightCharts.CandlestickSeries, { ...body(), priceScaleId: "left", priceFormat: { precision: digits, minMove: 10 ** -digits } });
  const time = chart.timeScale();
  series.attachPrimitive({ paneViews: () => [{ renderer: () => ({ draw: (target) => target.useMediaCoordinateSpace(({ context }) => marks(context)) }) }] });

  // marks draws each trade: where it was entered, where it was left, and a line between.
  function marks(c) {
    for (const t of data.trades) {
      const [x1, x2] = [t.from, t.to].map((i) => time.logicalToCoordinate(i)), [y1, y2] = [t.entry, t.exit].map((p) => series.priceToCoordinate(p));
      c.strokeStyle = c.fillStyle = colour(t.won ? "accent" : "loss");
      c.lineWidth = 1.5;
      c.setLineDash(t.won ? [] : [4, 3]);
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      const up = t.long ? 1 : -1;
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

  let starts, ends, asked = { from: 0, to: 0 };
  const bars = () => data.bars, count = () => data.bars.length;
  const width = () => (bars()[count() - 1][0] - bars()[0][0]) / Math.max(1, count() - 1);
  const timeAt = (i) => bars()[Math.round(i)]?.[0] ?? (i < 0 ? bars()[0][0] + i * width() : bars()[count() - 1][0] + (i - count() + 1) * width());
  const indexAt = (at) => {
    const i = bars().findIndex((bar) => bar[0] >= at);
    return i > 0 ? i : i < 0 ? count() - 1 + (at - timeAt(count() - 1)) / width() : (at - timeAt(0)) / width();
  };

  function show(fresh, from, to) {
    if (!fresh.bars.length) return;
    data = fresh;
    starts = timeAt(0) > asked.from + 4 * 86400;
    ends = timeAt(count() - 1) + width() < asked.to - 4 * 86400;
    series.setData(bars().map(([time, open, high, low, close]) => ({ time, open, high, low, close })));
    time.setVisibleLogicalRange({ from: indexAt(from) - 0.5, to: indexAt(to) + 0.5 });
    tell([data.merged > 1 && `${data.merged} bars in one candle.`, data.many && `${data.many} trades: zoom in to see them.`].filter(Boolean).join(" "));
  }

  time.subscribeVisibleLogicalRangeChange((seen) => {
    if (!seen || !(seen.from < 0 && !starts) && !(seen.to > count() && !ends) && !(data.merged > 1 && seen.to - seen.from < count() / 6)) return;
    const from = timeAt(seen.from), to = timeAt(seen.to), query = { from: from - (to - from), to: to + (to - from) };
    ask({ from: instant(query.from), to: instant(query.to), points: 500 }, (fresh) => {
      asked = query;
      show(fresh, from, to);
    });
  });
  const first = () => {
    const [from, to] = [box.dataset.from, box.dataset.to].map((at) => Date.parse(at) / 1000);
    return [from, to, { from: 2 * from - to, to: 2 * to - from }];
  };
  const [from, to, query] = first();
  asked = query;
  show(data, from, to);
  plainWheel(host);
  return {
    scale(by) {
      const { from, to } = time.getVisibleLogicalRange(), more = ((to - from) * (by - 1)) / 2;
      time.setVisibleLogicalRange({ from: from - more, to: to + more });
    },
    reset: () => time.setVisibleLogicalRange({ from: indexAt(from) - 0.5, to: indexAt(to) + 0.5 }),
    again() {
      chart.applyOptions(look());
      series.applyOptions(body());
    },
  };
}
candles.first = (box) => {
  const [from, to] = [box.dataset.from, box.dataset.to].map((at) => Date.parse(at) / 1000);
  return { from: instant(2 * from - to), to: instant(2 * to - from), points: 500 };
};

// plainWheel leaves the wheel to the page, unless the reader holds Ctrl or pinches.
function plainWheel(host) {
  host.addEventListener("wheel", (event) => event.ctrlKey || event.metaKey || event.stopPropagation(), { capture: true, passive: true });
}

// lines draws the equity by uPlot. What is seen of the test part is asked for bar
// by bar.
function lines(box, host, data, ask, tell) {
  const log = box.dataset.scale === "log", to = log ? Math.log : Number, back = log ? Math.exp : Number;
  const columns = (d) => [d.time, ...[d.fitted, d.hold, d.luck, d.account].map((line) => line.map((v) => (v === null ? v : to(v))))];
  const whole = [data.zones[0].from, data.zones.at(-1).to];
  let view = whole;
  const line = (name, width, more) => ({ stroke: () => colour(name), width, points: { show: false }, ...more });
  const axis = { stroke: () => colour("ink2"), font: "11px " + font(), ticks: { show: false } };
  const size = () => ({ width: host.clientWidth, height: host.clientHeight });
  const names = ["in sample", "buy and hold", "luck", "strategy"];
  const plot = new uPlot({
    ...size(), legend: { show: false }, padding: [10, 0, 0, 0], cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { range: () => view }, y: {} },
    axes: [
      { ...axis, grid: { show: false } },
      {
        ...axis, size: 50, grid: { stroke: () => colour("line"), width: 1 }, values: (u, list) => list.map((v) => +back(v).toFixed(4)),
        splits: (u, i, low, high) => round(back(low), back(high)).map(to),
      },
    ],
    series: [{}, line("accent", 1.2, { alpha: 0.55 }), line("market", 1.2), line("luck", 1.4, { dash: [5, 4] }), line("accent", 1.6)],
    hooks: {
      drawClear: [(u) => zones(u, data.zones)],
      setCursor: [(u) => {
        const i = u.cursor.idx;
        tell(i == null ? "" : [shown(u.data[0][i]), ...names.map((name, k) => u.data[k + 1][i] == null ? "" : `${name} ${back(u.data[k + 1][i]).toFixed(4)}`)].filter(Boolean).join(", "));
      }],
    },
  }, columns(data), host);

  function move(from, to) {
    const span = Math.min(Math.max(to - from, 3600), whole[1] - whole[0]);
    from = Math.min(Math.max((from + to - span) / 2, whole[0]), whole[1] - span);
    view = [from, from + span];
    draw();
    ask(span < whole[1] - whole[0] ? { from: instant(view[0]), to: instant(view[1]), points: 400 } : {}, (fresh) => {
      data = fresh;
      plot.setData(columns(data), false);
      draw();
    });
  }
  const draw = () => plot.setScale("x", { min: view[0], max: view[1] });
  const scale = (by, at = 0.5) => {
    const span = view[1] - view[0], from = view[0] + span * at * (1 - by);
    move(from, from + span * by);
  };

  const over = plot.over;
  let held;
  over.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, view };
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (!held) return;
    const by = ((held.x - event.clientX) / over.clientWidth) * (view[1] - view[0]);
    move(held.view[0] + by, held.view[1] + by);
  });
  for (const name of ["pointerup", "pointercancel"]) over.addEventListener(name, () => (held = undefined));
  over.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    scale(event.deltaY > 0 ? 1.2 : 1 / 1.2, event.offsetX / over.clientWidth);
  });
  new ResizeObserver(() => plot.setSize(size())).observe(host);
  return { scale, reset: () => move(...whole), again: () => plot.redraw() };
}
lines.first = () => ({});

// round are about five round numbers.
function round(low, high) {
  const rough = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((n) => n * ten >= rough) * ten;
  const list = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) list.push(v);
  return list;
}

// zones shades the parts of the data and writes their names.
function zones(u, list) {
  const c = u.ctx, { top, height, left, width } = u.bbox;
  c.save();
  c.beginPath();
  c.rect(left, top, width, height);
  c.clip();
  for (const zone of list) {
    const from = u.valToPos(zone.from, "x", true), to = u.valToPos(zone.to, "x", true);
    c.fillStyle = colour(zone.class === "ho" ? "accent2" : "sunk");
    c.globalAlpha = zone.class === "ho" ? 0.5 : 1;
    if (zone.class !== "te") c.fillRect(from, top, to - from, height);
    c.globalAlpha = 1;
    c.fillStyle = colour("line2");
    c.fillRect(from, top, devicePixelRatio, height);
    c.fillStyle = colour("ink2");
    c.font = `${11 * devicePixelRatio}px ${font()}`;
    c.fillText(zone.name, Math.max(from, left) + 6, top + 14 * devicePixelRatio, Math.max(1, to - from - 8));
  }
  c.restore();
}
