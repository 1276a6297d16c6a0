// Follows what goes on. What is asked for is what this page hasn't got: rows of the history, axes that fit
// them, and the parts of the page, which come as they are shown. Curves are all that is drawn here.
'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get('token') || '';
  const headers = { Authorization: `Bearer ${token}` };
  const button = byId('stop');
  const { noun } = button.dataset;
  const viewer = crypto.getRandomValues(new Uint32Array(1))[0];
  // A curve has a shape at some of its points only, so many pixels apart at least.
  const SHAPES_APART = 40;
  const RETRIES_MAX = 30;

  const parts = new Map();
  for (const part of document.querySelectorAll('[data-part]')) {
    parts.set(part.dataset.part, { place: part, shown: '' });
  }
  parts.set('status', { place: byId('status'), shown: '' });

  const plots = [...document.querySelectorAll('[data-columns]')].map((figure) => {
    const chart = figure.querySelector('.chart');
    const curves = chart.querySelector('svg');
    const groups = [...chart.querySelectorAll('.shapes')];
    const lines = [...curves.querySelectorAll('.line')];
    const columns = figure.dataset.columns.split(' ').map(Number);
    return {
      figure,
      chart,
      axes: chart.querySelector('.axes'),
      across: curves.viewBox.baseVal.width,
      height: curves.viewBox.baseVal.height,
      series: columns.map((column, at) => ({
        column,
        line: lines[at],
        shapes: groups[at],
        shown: '',
      })),
      fit: null,
      shown: '',
      width: 0,
    };
  });

  let rows = [];
  let each = 0;
  let seq = 0;
  let stage = 'running';
  let isStale = false;

  const rounded = (number) => Math.round(number * 10) / 10;

  /// From values to places, as the axes say.
  function places({ fit, across, height }) {
    const [left, right] = fit.x;
    const [low, high] = fit.log ? fit.y.map(Math.log) : fit.y;
    const share = (from, to, value) => Math.min(Math.max((value - from) / (to - from), 0), 1);
    return {
      x: (value) => across * share(left, right, value),
      y: (value) => height * (1 - share(low, high, fit.log ? Math.log(value) : value)),
    };
  }

  const shows = (fit, value) => value !== null && (!fit.log || value > 0);

  /// A curve with a gap wherever there is nothing. Where points are closer than pixels, the lowest
  /// and the highest of those that fall together are drawn.
  function path(plot, place, column, width) {
    const together = Math.max(1, Math.floor(rows.length / (2 * width)));
    let text = '';
    let joins = 0;
    const gap = () => {
      // A point by itself is a dot.
      if (joins === 1) text += 'h0';
      joins = 0;
    };
    const add = (row) => {
      const at = `${rounded(place.x(row[0]))},${rounded(place.y(row[column]))}`;
      text += (joins === 0 ? 'M' : 'L') + at;
      joins += 1;
    };
    for (let from = 0; from < rows.length; from += together) {
      let low = null;
      let high = null;
      for (let at = from; at < Math.min(from + together, rows.length); at += 1) {
        const row = rows[at];
        if (!shows(plot.fit, row[column])) continue;
        if (low === null || row[column] < low[column]) low = row;
        if (high === null || row[column] > high[column]) high = row;
      }
      if (low === null) {
        gap();
      } else if (low === high) {
        add(low);
      } else {
        const ordered = low[0] < high[0] ? [low, high] : [high, low];
        ordered.forEach(add);
      }
    }
    gap();
    return text;
  }

  function shapes(plot, place, series, width) {
    const { column, shapes: group } = series;
    const every = Math.ceil(rows.length / Math.max(1, Math.floor(width / SHAPES_APART)));
    let text = '';
    for (let at = 0; at < rows.length; at += every) {
      const row = rows[at];
      if (!shows(plot.fit, row[column])) continue;
      const left = rounded((100 * place.x(row[0])) / plot.across);
      const top = rounded(place.y(row[column]));
      text += `<use class="shape" href="${group.dataset.shape}" x="${left}%" y="${top}"/>`;
    }
    if (series.shown === text) return;
    series.shown = text;
    group.innerHTML = text;
  }

  /// Asking how wide something is has the browser lay everything out, so it's asked when that may
  /// have changed, and before anything is drawn.
  function measure() {
    for (const plot of plots) plot.width = plot.chart.clientWidth;
  }

  function draw() {
    isStale = false;
    performance.clearMeasures('draw');
    const start = performance.now();
    const isNew = (plot) => plot.figure.hidden !== (plot.fit === null);
    if (plots.some(isNew)) {
      for (const plot of plots) plot.figure.hidden = plot.fit === null;
      measure();
    }
    for (const plot of plots) {
      if (plot.fit === null) continue;
      if (plot.shown !== plot.fit.axes) {
        plot.shown = plot.fit.axes;
        plot.axes.innerHTML = plot.shown;
      }
      const width = plot.width || plot.across;
      plot.chart.classList.toggle('dense', rows.length > width);
      const place = places(plot);
      for (const series of plot.series) {
        series.line.setAttribute('d', path(plot, place, series.column, width));
        shapes(plot, place, series, width);
      }
    }
    performance.measure('draw', { start });
  }

  /// Nobody sees a tab in the background.
  function drawSoon() {
    if (isStale) return;
    isStale = true;
    requestAnimationFrame(draw);
  }

  function show(name, text) {
    const part = parts.get(name);
    if (part === undefined || part.shown === text) return;
    part.shown = text;
    part.place.innerHTML = text;
  }

  function take(update) {
    ({ each, seq, stage } = update);
    rows.length = update.from;
    rows.push(...update.rows);
    plots.forEach((plot, at) => {
      plot.fit = update.plots[at];
    });
    Object.entries(update.parts).forEach(([name, text]) => show(name, text));
    document.body.dataset.stage = stage;
    button.hidden = stage === 'measured' || stage === 'over';
    if (stage === 'ending') {
      button.disabled = true;
      button.textContent = 'Ending …';
    }
    drawSoon();
  }

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  async function follow() {
    for (let failures = 0; failures < RETRIES_MAX && stage !== 'over'; ) {
      const from = Math.max(0, rows.length - 1);
      const query = `updates?seq=${seq}&each=${each}&from=${from}&viewer=${viewer}`;
      try {
        const answer = await fetch(query, { headers, cache: 'no-store' });
        if (!answer.ok) throw new Error(`it was answered with ${answer.status}`);
        take(await answer.json());
        failures = 0;
        say('');
      } catch {
        failures += 1;
        if (failures > 2) lost();
        await pause(1000);
      }
    }
  }

  /// The program is gone without a word, or the way to it.
  function lost() {
    button.hidden = true;
    say(`The ${noun} doesn’t answer any more: it has ended, or can’t be reached. Below is what `
      + 'it said last.');
  }

  function say(text) {
    const said = byId('said');
    if (said.textContent !== text) said.textContent = text;
  }

  let isArmed = false;

  /// What can't be undone takes two clicks.
  button.addEventListener('click', async () => {
    if (!isArmed) {
      isArmed = true;
      button.textContent = 'Click again to end it';
      await pause(4000);
      isArmed = false;
      if (!button.disabled) button.textContent = `End the ${noun}`;
      return;
    }
    button.disabled = true;
    button.textContent = 'Ending …';
    const refused = () => {
      button.disabled = false;
      button.textContent = `End the ${noun}`;
      say('It wasn’t taken. Try again, or press Ctrl-C where ringside runs.');
    };
    try {
      const answer = await fetch('stop', { method: 'POST', headers });
      if (!answer.ok) refused();
    } catch {
      refused();
    }
  });

  addEventListener('resize', () => {
    measure();
    drawSoon();
  });
  follow();
})();
