// Draws each figure's numbers with uPlot. The page says the same without it, in tables.
"use strict";

const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function overlay(data) {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = devicePixelRatio;
    const across = (value, dash) => {
      const y = plot.valToPos(value, "y", true);
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    };
    ctx.strokeStyle = colour("--soft");
    for (const base of data.base) across(base.value, [2, 4]);
    ctx.strokeStyle = colour("--bad-ink");
    for (const limit of data.limits) across(limit.value, [8, 6]);
    ctx.setLineDash([]);
    ctx.fillStyle = colour("--ink");
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    data.marks.forEach((mark, k) => {
      const x = plot.valToPos(mark.x, "x", true);
      ctx.strokeStyle = mark.kind === "repair" || mark.kind === "over" ? "#2e8b57" : colour("--bad-ink");
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const right = x + 4 + ctx.measureText(mark.label).width > bbox.left + bbox.width;
      ctx.textAlign = right ? "right" : "left";
      ctx.fillText(mark.label, x + (right ? -4 : 4), bbox.top + (14 + 14 * (k % 4)) * devicePixelRatio);
    });
    ctx.restore();
  };
}

function range(data) {
  return (_plot, low, high) => {
    if (low === null || high === null) return [0, 1];
    const room = Math.max((high - low) * 0.5, Math.abs(high) * 0.02, 1e-6);
    const near = [...data.limits, ...data.base].map((one) => one.value).filter((v) => v > low - 3 * room && v < high + 3 * room);
    const ends = [low, high, ...near];
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const edge = Math.max((most - least) * 0.08, 1e-9);
    return [least - edge, most + edge];
  };
}

// Times of a plot are UTC, as everywhere on the page.
function hours(_plot, splits) {
  return splits.map((seconds) => {
    const text = new Date(seconds * 1000).toISOString();
    return text.slice(11, 16) === "00:00" ? text.slice(5, 10) : text.slice(11, 16);
  });
}

function draw(figure) {
  const data = JSON.parse(figure.dataset.plot);
  const place = figure.querySelector(".canvas");
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const options = {
    width: place.clientWidth,
    height: 220,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { y: { range: range(data) }, x: { time: data.time !== false, ...(data.span ? { range: () => data.span } : {}) } },
    axes: [{ ...axis, ...(data.time === false ? {} : { values: hours }) }, { ...axis, size: 64 }],
    series: [{}, ...data.lines.map((line, k) => ({
      label: line.label, stroke: LINES[k % LINES.length], width: 1.5, points: { show: data.points === true },
      dash: k < LINES.length ? [] : [6, 3],
    }))],
    hooks: { draw: [overlay(data)] },
  };
  if (data.time === false) delete options.tzDate;
  return new uPlot(options, [data.x, ...data.lines.map((line) => line.values)], place);
}

const figures = [...document.querySelectorAll("figure.plot")];
let drawn = [];
function all() {
  drawn.forEach((plot) => plot.destroy());
  drawn = figures.map(draw);
}
all();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
let waiting;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(all, 150);
});
