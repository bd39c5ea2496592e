const CELLS = 60;
const HOLD_SECONDS = 4;
const BURST = 200;
const SILENCE_MILLIS = 5000;

const byId = id => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const rate = new Intl.NumberFormat('en', {minimumFractionDigits: 1, maximumFractionDigits: 1});
const seconds = millis => `${rate.format(millis / 1000)}\u00a0s`;
const time = millis => millis < 1000 ? `${Math.round(millis)}\u00a0ms` : seconds(millis);
const sum = (items, field) => items.reduce((total, item) => total + item[field], 0);

let board;
let turn = 0;

/* What the stream brings */

let source;
let lastNews = performance.now();

function connect() {
  source = new EventSource('events');
  source.addEventListener('board', event => {
    heard('live');
    board = JSON.parse(event.data);
    show(board);
  });
  source.addEventListener('trouble', event => {
    heard('trouble');
    setText(byId('connection'), `${JSON.parse(event.data).detail}: these figures are old`);
  });
  source.onerror = () => lost();
}

function heard(state) {
  lastNews = performance.now();
  setState(state);
}

function lost() {
  setState('lost');
  setText(byId('connection'), 'Connection lost, trying again');
}

function setState(state) {
  document.body.dataset.state = state;
  byId('controls').disabled = state !== 'live';
}

setInterval(() => {
  if (performance.now() - lastNews > SILENCE_MILLIS) {
    lost();
  }
  if (source.readyState === EventSource.CLOSED) {
    connect();
  }
}, 1000);

/* What the page shows */

function show({servedBy, stock, shops, lastOrders, locks, leaseMillis}) {
  const marks = new Map(shops.map((shop, index) => [shop.name, index % 4]));
  setText(byId('connection'), `Live, served by ${servedBy}`);
  showStock(stock);
  showLastOrders(lastOrders, marks);
  showTargets(shops.filter(shop => shop.port).map(shop => shop.name));
  showShops(shops, marks);
  eachRow(byId('locks'), 'lock-card', locks, lock => lock.name, (card, lock) => showLock(card, lock, marks, leaseMillis));
}

function showStock({product, units, remaining, sold}) {
  setText(byId('remaining'), number.format(remaining));
  setText(byId('of-units'), `of ${number.format(units)} ${product}s left, ${number.format(sold)} sold`);
  byId('stock-bar').style.width = `${units ? (100 * remaining) / units : 0}%`;
  const tooMany = sold - (units - remaining);
  byId('verdict').classList.toggle('wrong', tooMany !== 0);
  setText(byId('verdict'), tooMany === 0
    ? `Stock and orders agree: no ${product} was sold twice.`
    : `${number.format(tooMany)} orders too many: so often two customers were sold the same ${product}.`);
}

function showLastOrders(runs, marks) {
  const strip = byId('last-orders');
  while (strip.children.length < CELLS) {
    strip.append(document.createElement('i'));
  }
  const sellers = runs.flatMap(run => Array(run.orders).fill(run.shop));
  [...strip.children].forEach((cell, index) => setMark(cell, marks.get(sellers[index])));
  const told = runs.map(run => `${run.orders} by ${run.shop}`).join(', then ');
  strip.setAttribute('aria-label', told === '' ? 'No orders yet' : `Newest first: ${told}`);
}

function showTargets(names) {
  const choices = names.length > 1 ? ['', ...names] : names;
  const group = byId('targets');
  const shown = [...group.querySelectorAll('input')].map(input => input.value);
  if (shown.join('\n') === choices.join('\n')) {
    return;
  }
  const chosen = choices.includes(target()) ? target() : choices[0];
  group.replaceChildren(...choices.map(name => {
    const label = document.createElement('label');
    const input = document.createElement('input');
    const text = document.createElement('span');
    Object.assign(input, {type: 'radio', name: 'target', value: name, checked: name === chosen});
    text.textContent = name === '' ? 'All' : name;
    text.dataset.text = text.textContent;
    label.append(input, text);
    return label;
  }));
}

function showShops(shops, marks) {
  eachRow(byId('instances'), 'instance-row', shops, shop => shop.name, (row, shop) => {
    row.className = shop.port ? '' : 'gone';
    const link = row.querySelector('a');
    setMark(row.querySelector('.mark'), marks.get(shop.name));
    setText(link, shop.name);
    setText(row.querySelector('small'), shop.port ? `process ${shop.pid}` : 'does not run');
    if (shop.port) {
      link.href = `//${location.hostname}:${shop.port}/`;
    } else {
      link.removeAttribute('href');
    }
    [number.format(shop.orders), rate.format(shop.handOversPerSecond), rate.format(shop.passesPerSecond)]
      .forEach((text, index) => setText(row.children[index + 1], text));
  });
  setText(byId('orders'), number.format(sum(shops, 'orders')));
  setText(byId('hand-overs'), rate.format(sum(shops, 'handOversPerSecond')));
  setText(byId('passes'), rate.format(sum(shops, 'passesPerSecond')));
}

function showLock(card, lock, marks, leaseMillis) {
  const held = lock.holders.length > 0;
  const part = selector => card.querySelector(selector);
  card.dataset.held = held;
  setText(part('h3'), lock.name);
  setText(part('.holder'), held ? `Held by ${lock.holders.map(holder => holder.name).join(', ')}` : 'Nobody holds it');
  setText(part('.where'), lock.holders.map(place).join(', '));
  setText(part('.left'), held ? seconds(lock.remainingMillis) : '–');
  setText(part('.token'), held ? lock.token : '–');
  setText(part('.mode'), held ? lock.mode.toLowerCase() : '–');
  const lease = part('.lease');
  lease.firstElementChild.style.width = `${Math.min(100, (100 * lock.remainingMillis) / leaseMillis)}%`;
  lease.setAttribute('aria-valuemax', leaseMillis / 1000);
  lease.setAttribute('aria-valuenow', Math.round(lock.remainingMillis / 100) / 10);
  const force = part('.force');
  force.disabled = !held;
  force.onclick = () => forceRelease(lock.name);
  eachRow(part('.queue'), 'queue-row', lock.waiters, waiter => `${waiter.name} ${waiter.pid}`, (row, waiter) => {
    setMark(row.querySelector('.mark'), marks.get(waiter.name));
    setText(row.querySelector('b'), waiter.name);
    setText(row.querySelector('small'), place(waiter));
    setText(row.querySelector('.what'), callers(waiter));
    setText(row.querySelector('.waited'), waiter.waitedMillis == null ? '' : seconds(waiter.waitedMillis));
  });
  const change = lock.lastChange;
  setText(part('.change'), change
    ? `Last hand-over: to ${change.to}, ${ago(change.agoMillis)}, after a wait of ${time(change.waitedMillis)}`
    : 'No hand-over between instances yet');
}

const place = ({host, pid}) => `${host || 'unknown host'}, process ${pid}`;
const ago = millis => millis < 1000 ? 'just now' : `${Math.floor(millis / 1000)} s ago`;

function callers({callers: count, mode, inside}) {
  if (count == null) {
    return '';
  }
  return `${count} ${count === 1 ? 'caller' : 'callers'}, ${mode.toLowerCase()}${inside ? ', inside the holder' : ''}`;
}

/** Brings the rows of a container in line with the items: one for each key, made from a template when it is new. */
function eachRow(container, template, items, key, update) {
  const rows = new Map([...container.children].map(row => [row.dataset.key, row]));
  items.forEach((item, index) => {
    const row = rows.get(key(item)) ?? byId(template).content.firstElementChild.cloneNode(true);
    rows.delete(key(item));
    row.dataset.key = key(item);
    if (container.children[index] !== row) {
      container.insertBefore(row, container.children[index] ?? null);
    }
    update(row, item);
  });
  rows.forEach(row => row.remove());
}

/** Touches the page only where a text has changed, for a screen reader would read it again. */
function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function setMark(element, mark) {
  if (mark === undefined) {
    delete element.dataset.mark;
  } else {
    element.dataset.mark = mark;
  }
}

/* What the buttons do */

const target = () => document.querySelector('#targets input:checked')?.value ?? '';

const targets = () => target() === '' ? board.shops.filter(shop => shop.port).map(shop => shop.name) : [target()];

const say = text => setText(byId('result'), text);

async function ask(method, path) {
  const response = await fetch(path, {method});
  const body = await response.json();
  return {ok: response.ok, body, problem: body.detail ?? body.message ?? `Answer ${response.status}`};
}

const askInstance = (name, path) => ask('POST', `instances/${encodeURIComponent(name)}/${path}`);

const actions = {
  async one({mode}) {
    const names = targets();
    const name = names[turn++ % names.length];
    const {ok, body, problem} = await askInstance(name, `orders?mode=${mode}`);
    say(ok ? `${body.instance} took order ${number.format(body.order)}: ${number.format(body.remaining)} left.` : `${name}: ${problem}.`);
  },

  async burst({mode}) {
    const names = targets();
    say(`${BURST} orders at ${names.join(' and ')} …`);
    const orders = Math.ceil(BURST / names.length);
    const start = performance.now();
    const answers = await Promise.all(names.map(name => askInstance(name, `burst?mode=${mode}&orders=${orders}`)));
    const failure = answers.find(answer => !answer.ok);
    if (failure) {
      say(`${failure.problem}.`);
      return;
    }
    const [sold, soldOut, failed] = ['sold', 'soldOut', 'failed'].map(field => sum(answers.map(answer => answer.body), field));
    const rest = [soldOut && `${number.format(soldOut)} came too late`, failed && `${number.format(failed)} got no lock`];
    say(`${[`${number.format(sold)} sold`, ...rest.filter(Boolean)].join(', ')}, in ${time(performance.now() - start)}.`);
  },

  async hold() {
    const names = targets();
    say(`${names.join(', then ')}: ${names.length > 1 ? 'each holds' : 'holds'} the lock for ${HOLD_SECONDS}\u00a0s.`);
    await Promise.all(names.map(async name => {
      const {ok, body, problem} = await askInstance(name, `hold?seconds=${HOLD_SECONDS}`);
      const end = body.stillHeld ? 'and released it' : 'and lost it';
      say(ok ? `${name} held the lock for ${time(body.heldMillis)} ${end}.` : `${name}: ${problem}.`);
    }));
  },

  async restart() {
    const {ok, problem} = await ask('POST', `stock/${encodeURIComponent(board.stock.product)}`);
    say(ok ? 'The sale starts again.' : `${problem}.`);
  },
};

function forceRelease(name) {
  const holders = board.locks.find(lock => lock.name === name)?.holders ?? [];
  setText(byId('confirm-text'),
    `${holders.map(holder => holder.name).join(', ') || 'Nobody'} holds ${name}. Until the holder hears of it, it works on while the next one begins.`);
  const dialog = byId('confirm');
  dialog.returnValue = '';
  dialog.onclose = () => {
    const sure = dialog.returnValue === 'release';
    // The event of an earlier end may come only now: one yes is one release.
    dialog.returnValue = '';
    if (sure) {
      attempt(async () => {
        const {ok, body, problem} = await ask('DELETE', `locks?name=${encodeURIComponent(name)}`);
        say(ok ? `${name}: ${body.released ? 'released by force' : 'it was free already'}.` : `${problem}.`);
      });
    }
  };
  dialog.showModal();
}

function attempt(work) {
  work().catch(() => say('No answer: the instance may have been stopped.'));
}

byId('controls').addEventListener('click', event => {
  const button = event.target.closest('button');
  if (button) {
    attempt(() => actions[button.dataset.action](button.dataset));
  }
});

connect();
