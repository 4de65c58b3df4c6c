// The page of `dewpoint dashboard`. Names, messages and log lines come from other devices and programs: they are only
// ever shown as text (`textContent`), never as HTML, and with their control characters made visible.
'use strict';
(() => {
  // Bounds, in milliseconds where no other unit is named.
  const RETRY_FIRST = 500, RETRY_LAST = 15000;        // between two attempts to follow the events
  const HIDDEN_PAUSE = 30000;                          // how long a hidden page keeps its stream
  const CONTAINERS_EVERY = 5000, STATUS_PAUSE = 1000;  // refreshing the list; between an event and a container's status
  const COLLECT = 200;                                 // collecting events before items are asked for
  const FOLLOW_WAIT = 500;                             // how long the first listing waits for the stream of events
  const FIRST_PAGE = 200, PAGE = 10000;                // items of a directory in the first request, and in each later one
  const DIRECTORY_LIMIT = 500000;                      // items of one directory that are shown
  const TILES = 2000;                                  // items of one directory in the view of pictures
  const PREVIEW_BATCH = 64, PREVIEW_BODY = 60000;      // previews in one request, and bytes of their paths
  const PREVIEW_PAUSE = 50;                            // collecting pictures that come into sight
  const SINGLE_LIMIT = 32;                             // changed items of a directory that are asked for one by one
  const RELIST_PAUSE = 2000;                           // between two listings of a directory, more for a long one
  const SHOWN_LIMIT = 300;                             // entries of a list that is not the tree
  const EVENT_LIMIT = 300, LINE_LIMIT = 1 << 20;       // events that are kept; characters of one event
  const LOG_LINES = 300, NOTICE_TIME = 10000, REQUEST_LIMIT = 60000;
  const ROW = 34, OVERSCAN = 6, NARROW = 800;          // pixels of a row; rows beyond each edge; pixels of a narrow page

  // Kept for this tab, and out of its address: people show and copy addresses. See reopen.js.
  const TOKEN = new URLSearchParams(location.search).get('token') ?? '';
  sessionStorage.setItem('token', TOKEN);
  history.replaceState(history.state, '', location.pathname + location.hash);

  // ---- Elements and text

  const $ = (id) => document.getElementById(id);

  /// Creates an element: `class`, `text`, `on` (handler of clicks), anything else as an attribute.
  function el(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === 'class') element.className = value;
      else if (name === 'text') element.textContent = value;
      else if (name === 'on') element.addEventListener('click', value);
      else element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== null));
    return element;
  }

  // Control characters, marks that turn the direction of writing, invisible characters and halves of characters.
  // eslint-disable-next-line no-control-regex
  const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;
  const printable = (text) => String(text).replace(UNSAFE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  const nameOf = (text, tag = 'bdi') => el(tag, { class: 'name', text: printable(text) });

  function bytes(count) {
    if (!Number.isFinite(count)) return '–';
    let value = count;
    for (const unit of ['B', 'KiB', 'MiB', 'GiB', 'TiB']) {
      if (Math.abs(value) < 1024 || unit === 'TiB') return `${unit === 'B' || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
      value /= 1024;
    }
  }
  const count = (number, noun) => `${Number(number).toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
  function duration(seconds) {
    if (!Number.isFinite(seconds)) return '';
    if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    return `${Math.round(seconds / 3600)} h`;
  }
  // Local time, written as in ISO 8601.
  const timeFormat = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
  const clockFormat = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium' });
  function time(text, format = timeFormat) {
    const date = new Date(text);
    return Number.isNaN(date.getTime()) ? '' : format.format(date);
  }

  /// Shows a list and leaves entries alone that have not changed, so that the focus stays where it is.
  function renderList(list, values, keyOf, build) {
    list.known ??= new Map();
    const shown = new Map();
    let position = list.firstChild;
    for (const value of values) {
      const key = String(keyOf(value)), json = JSON.stringify(value);
      if (shown.has(key)) continue;
      let entry = list.known.get(key);
      if (entry?.json !== json) {
        const element = build(value);
        if (entry) {
          const focused = entry.element.contains(document.activeElement) && document.activeElement.dataset.action;
          if (position === entry.element) position = element;
          entry.element.replaceWith(element);
          if (focused) element.querySelector(`[data-action="${focused}"]`)?.focus();
        }
        entry = { json, element };
      }
      if (entry.element === position) position = position.nextSibling;
      else list.insertBefore(entry.element, position);
      shown.set(key, entry);
    }
    for (const [key, entry] of list.known) if (!shown.has(key)) entry.element.remove();
    list.known = shown;
  }

  let noticeTimer;
  function notify(text, isError) {
    $('notice-text').textContent = printable(text);
    $('notice').classList.toggle('error', !!isError);
    $('notice').hidden = false;
    clearTimeout(noticeTimer);
    noticeTimer = setTimeout(() => { $('notice').hidden = true; }, NOTICE_TIME);
  }

  function confirmed(text, verb) {
    const dialog = $('confirm');
    $('confirm-text').textContent = printable(text);
    $('confirm-yes').textContent = verb;
    dialog.returnValue = 'no';
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
    });
  }

  /// A button that is out of order while its action runs; a failure is shown.
  function action(name, label, run, style) {
    const button = el('button', { type: 'button', class: style, text: label, 'data-action': name });
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-disabled')) return;
      button.setAttribute('aria-disabled', 'true');
      try {
        const done = await run();
        if (typeof done === 'string') notify(done);
      } catch (error) {
        if (error.name !== 'AbortError') notify(error.message, true);
      }
      button.removeAttribute('aria-disabled');
    });
    return button;
  }

  // ---- Requests

  async function request(path, { method = 'GET', body, signal, limit } = {}) {
    const headers = { 'Dewpoint-Token': TOKEN };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const signals = [signal, limit && AbortSignal.timeout(limit)].filter(Boolean);
    let response;
    try {
      response = await fetch(path, {
        method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store',
        credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer', signal: AbortSignal.any(signals),
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Error(error.name === 'TimeoutError' ? 'no answer in time' : 'the dashboard does not answer; is “dewpoint dashboard” still running?');
    }
    if (response.ok) return response;
    let fault = {};
    try { fault = await response.json(); } catch { /* not from a daemon */ }
    const error = new Error(fault.message ?? `HTTP status ${response.status}`);
    error.status = response.status;
    error.code = fault.code;
    throw error;
  }
  const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const query = (path) => `path=${encodeURIComponent(path)}`;

  /// One container, as long as it is shown.
  class Session {
    constructor(id, mountpoint) {
      this.id = id;
      this.mountpoint = mountpoint;
      this.ending = new AbortController();
      this.events = [];
      this.tree = new Tree(this);
      // Listed before it is followed, a change in between would be missed.
      this.isFollowed = new Promise((resolve) => { this.begin = resolve; });
    }
    get signal() { return this.ending.signal; }
    get isShown() { return session === this; }
    async get(route, options = {}) {
      const response = await request(`/api/containers/${this.id}${route}`, { signal: this.signal, limit: REQUEST_LIMIT, ...options });
      return response.json();
    }
    async post(route, body) {
      const response = await request(`/api/containers/${this.id}${route}`, { method: 'POST', body, signal: this.signal });
      return response.json();
    }
    end() { this.ending.abort(); this.stream?.abort(); }

    // Following

    async follow() {
      let wait = RETRY_FIRST;
      while (this.isShown) {
        this.stream = new AbortController();
        try {
          const signal = AbortSignal.any([this.signal, this.stream.signal]);
          const response = await request(`/api/containers/${this.id}/v1/events?${query('')}`, { signal });
          this.isLive = true;
          connection('live', 'Live');
          // What happened meanwhile was missed.
          if (this.tree.root.load > 0) this.refresh();
          await this.readLines(response.body, (line) => { wait = RETRY_FIRST; this.note(JSON.parse(line)); });
        } catch (error) {
          if (!this.isShown) return;
        }
        this.isLive = false;
        while (isPaused && this.isShown) await sleep(200);
        if (!this.isShown) return;
        connection('lost', 'Reconnecting…');
        await sleep(wait * (0.75 + Math.random() / 2));
        wait = Math.min(wait * 2, RETRY_LAST);
      }
    }
    async readLines(body, take) {
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        rest += value;
        const lines = rest.split('\n');
        rest = lines.pop();
        for (const line of lines) if (line) take(line);
        if (rest.length > LINE_LIMIT) throw new Error('a line of events is too long');
      }
    }
    note(event) {
      if (event.event === 'following') { this.begin(); return; }
      this.events.unshift(event);
      if (this.events.length > EVENT_LIMIT) this.events.length = EVENT_LIMIT;
      this.tree.note(event);
      if (tab === 'activity') soon('activity', showActivity);
      if (tab === 'trash' && event.event === 'deleted') later('trash', () => panels.trash.load());
      if (tab === 'conflicts' && event.event.startsWith('version')) later('conflicts', () => panels.conflicts.load());
      later('status', loadStatus, STATUS_PAUSE);
    }
    refresh() {
      loadStatus();
      this.tree.refresh();
      panels[tab].load?.();
    }
  }

  /// Runs a function once for many calls: with the next frame, or after a pause.
  const planned = new Set();
  function soon(key, run) {
    if (planned.has(key)) return;
    planned.add(key);
    requestAnimationFrame(() => { planned.delete(key); run(); });
  }
  function later(key, run, pause = COLLECT) {
    if (planned.has(key)) return;
    planned.add(key);
    setTimeout(() => { planned.delete(key); run(); }, pause);
  }

  function connection(style, text) {
    $('connection').className = `connection ${style}`;
    if ($('connection').textContent !== text) $('connection').textContent = text;
  }

  // A hidden page lets its connection go: a browser has few of them for all pages together.
  let isPaused = false, hiddenTimer;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) {
      hiddenTimer = setTimeout(() => { isPaused = true; session?.stream?.abort(); }, HIDDEN_PAUSE);
    } else {
      isPaused = false;
    }
  });

  // ---- The tree

  const STATES = {
    none: '', local: 'On this device', cloud: 'In the cloud', downloading: 'Downloading', uploading: 'Uploading',
    waiting: 'Waiting to upload', elsewhere: 'Not uploaded there', stale: 'Newer in the cloud', conflict: 'Conflict',
    error: 'Error', unsynced: 'Not synced',
  };
  function stateOf(item) {
    if (item.conflictCount > 0) return 'conflict';
    if (item.downloadingError || item.uploadingError) return 'error';
    if (item.isDownloading) return 'downloading';
    if (item.isUploading) return 'uploading';
    if (!item.isUbiquitousItem || item.isExcludedFromSync) return 'unsynced';
    if (!item.isUploaded) return item.downloadingStatus === 'NotDownloaded' ? 'elsewhere' : 'waiting';
    if (item.kind === 'directory') return 'none';
    if (item.downloadingStatus === 'NotDownloaded') return 'cloud';
    return item.downloadingStatus === 'Downloaded' ? 'stale' : 'local';
  }
  function stateText(item) {
    const state = stateOf(item);
    const percent = state === 'downloading' ? item.percentDownloaded : state === 'uploading' ? item.percentUploaded : undefined;
    let text = STATES[state];
    if (percent !== undefined) text += ` ${Math.floor(percent)}%`;
    const notes = [item.pinned && state !== 'none' && 'pinned', item.isSyncPaused && 'paused'].filter(Boolean);
    return notes.length ? [text, ...notes].filter(Boolean).join(', ') : text;
  }

  /// Names are ordered by their bytes in UTF-8, which is the order of their code points.
  function compareNames(a, b) {
    for (let i = 0; i < a.length && i < b.length;) {
      const x = a.codePointAt(i), y = b.codePointAt(i);
      if (x !== y) return x < y ? -1 : 1;
      i += x > 0xffff ? 2 : 1;
    }
    return a.length - b.length;
  }

  class Tree {
    constructor(owner) {
      this.session = owner;
      this.root = { name: '', path: '', depth: -1, isDirectory: true, isOpen: true, kids: null, load: 0 };
      this.rows = [];
      this.active = null;
      this.pending = new Map();   // directories, each with the names in it that have changed
    }
    get isShown() { return this.session.isShown; }

    /// The path of the directory that is chosen, or in which the chosen item is.
    get directory() {
      const node = this.active;
      return node ? this.pathOf(node.isDirectory ? node : node.parent) : '';
    }
    pathOf(node) {
      const names = [];
      for (let at = node; at.parent; at = at.parent) names.push(at.name);
      return names.reverse().join('/');
    }
    /// Only what a row shows: there may be hundreds of thousands.
    node(item, parent) { return this.take({ name: item.path.slice(item.path.lastIndexOf('/') + 1), parent, depth: parent.depth + 1, kids: null, isOpen: false, load: 0 }, item); }
    take(node, item) {
      node.isDirectory = item.kind === 'directory';
      node.size = item.logicalSize;
      node.state = stateOf(item);
      node.text = stateText(item);
      node.modified = Date.parse(item.modified);
      node.error = item.downloadingError?.text ?? item.uploadingError?.text;
      return node;
    }

    async list(node) {
      const load = ++node.load;
      const before = node.kids && new Map(node.kids.filter((kid) => kid.isOpen).map((kid) => [kid.name, kid]));
      const kids = [];
      const path = this.pathOf(node);
      node.isLoading = true;
      let after;
      try {
        do {
          const limit = before || after !== undefined ? PAGE : FIRST_PAGE;
          const next = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
          const page = await this.session.get(`/v1/items?${query(path)}${next}&limit=${limit}`);
          if (node.load !== load || !this.isShown) return;
          for (const item of page.items) {
            const old = before?.get(item.path.slice(item.path.lastIndexOf('/') + 1));
            kids.push(old && item.kind === 'directory' ? this.take(old, item) : this.node(item, node));
          }
          after = page.next;
          if (!before) { node.kids = kids; this.changed(); }
        } while (after !== undefined && kids.length < DIRECTORY_LIMIT);
        node.kids = kids;
        node.isCut = after !== undefined;
        node.names = null;
      } catch (error) {
        if (error.name === 'AbortError') return;
        if (error.status === 404 || error.code === 'notDirectory') node.kids = [];
        else notify(`${path || 'The container'} could not be listed: ${error.message}`, true);
      } finally {
        if (node.load === load) {
          node.isLoading = false;
          node.listed = Date.now();
        }
      }
      this.changed();
    }

    /// Lists a directory again, and the open ones in it.
    listAgain(node) {
      this.list(node);
      for (const kid of node.kids ?? []) if (kid.isOpen) this.listAgain(kid);
    }
    refresh() {
      this.listAgain(this.root);
      showDetails(true);
    }

    changed() { this.isStale = true; soon('tree', () => session?.tree.render()); }
    flatten() {
      const rows = [];
      const visit = (node) => {
        for (const kid of node.kids ?? []) {
          rows.push(kid);
          if (kid.isOpen) visit(kid);
        }
      };
      visit(this.root);
      this.rows = rows;
      this.isStale = false;
      if (this.active && !rows.includes(this.active)) {
        const path = this.pathOf(this.active);
        this.active = rows.find((row) => row.name === this.active.name && this.pathOf(row) === path) ?? null;
        showDetails();
      }
    }

    render() {
      if (tab !== 'files') return;
      if (this.isStale) this.flatten();
      const space = $('tree-space'), box = $('tree');
      space.style.height = `${this.rows.length * ROW}px`;
      box.setAttribute('aria-rowcount', this.rows.length);
      const first = Math.max(0, Math.floor(box.scrollTop / ROW) - OVERSCAN);
      const last = Math.min(this.rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + OVERSCAN);
      while (pool.length < last - first) pool.push(makeRow(pool.length));
      pool.forEach((row, index) => {
        // The same element for the same row number while it stays in sight.
        const number = first + ((index - first) % pool.length + pool.length) % pool.length;
        const node = number < last ? this.rows[number] : undefined;
        if (node) fillRow(row, node, number, node === this.active);
        else if (row.isConnected) row.remove();
      });
      const active = pool.find((row) => row.isConnected && row.node === this.active && this.active);
      if (active) box.setAttribute('aria-activedescendant', active.id);
      else box.removeAttribute('aria-activedescendant');
      const open = this.root;
      $('tree-note').textContent = !open.kids ? 'Loading…'
        : this.rows.length === 0 ? 'The container is empty.'
          : count(this.rows.length, 'row') + (this.rows.some((row) => row.isLoading) || open.isLoading ? ', loading…' : '')
            + (open.isCut ? `; the directory has more than ${DIRECTORY_LIMIT}` : '');
    }

    choose(index, isFollowed = true) {
      if (this.isStale) this.flatten();
      const node = this.rows[Math.max(0, Math.min(index, this.rows.length - 1))];
      if (!node) return;
      this.active = node;
      const top = this.rows.indexOf(node) * ROW, box = $('tree');
      if (isFollowed && top < box.scrollTop) box.scrollTop = top;
      else if (isFollowed && top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
      this.render();
      history.replaceState(null, '', `#${this.session.id}/${this.pathOf(node).split('/').map(encodeURIComponent).join('/')}`);
      later('details', showDetails, 60);
    }
    toggle(node, isOpen = !node.isOpen) {
      if (!node.isDirectory || node.isOpen === isOpen) return;
      node.isOpen = isOpen;
      if (isOpen) this.list(node);
      else { node.kids = null; node.names = null; node.load++; }   // read again when it is opened again
      this.changed();
      this.render();
    }
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = this.active ? this.rows.indexOf(this.active) : -1;
      const page = Math.max(1, Math.floor($('tree').clientHeight / ROW) - 1);
      const node = this.active;
      switch (event.key) {
        case 'ArrowDown': this.choose(at + 1); break;
        case 'ArrowUp': this.choose(Math.max(0, at - 1)); break;
        case 'PageDown': this.choose(at + page); break;
        case 'PageUp': this.choose(Math.max(0, at - page)); break;
        case 'Home': this.choose(0); break;
        case 'End': this.choose(this.rows.length - 1); break;
        case 'ArrowRight':
          if (node?.isDirectory && !node.isOpen) this.toggle(node, true);
          else if (node?.isOpen && node.kids?.length) this.choose(at + 1);
          break;
        case 'ArrowLeft':
          if (node?.isOpen) this.toggle(node, false);
          else if (node?.parent && node.parent !== this.root) this.choose(this.rows.indexOf(node.parent));
          break;
        case 'Enter': case ' ':
          if (node?.isDirectory) this.toggle(node);
          else $('details').querySelector('button')?.focus();
          break;
        default: return;
      }
      event.preventDefault();
    }

    /// Opens the directories of a path, and chooses what is there.
    async reveal(path) {
      let node = this.root;
      await this.list(node);
      for (const name of path.split('/').filter(Boolean)) {
        node = node.kids?.find((kid) => kid.name === name);
        if (!node || !this.isShown) return;
        if (node.isDirectory) { node.isOpen = true; await this.list(node); }
      }
      if (node !== this.root) { this.flatten(); this.choose(this.rows.indexOf(node)); }
    }

    // Events

    find(path) {
      let node = this.root;
      for (const name of path.split('/').filter(Boolean)) {
        node = this.kid(node, name);
        if (!node) return undefined;
      }
      return node;
    }
    kid(node, name) {
      if (!node.kids) return undefined;
      if (!node.names || node.names.count !== node.kids.length) {
        node.names = new Map(node.kids.map((kid) => [kid.name, kid]));
        node.names.count = node.kids.length;
      }
      return node.names.get(name);
    }
    note(event) {
      if (event.event === 'deleted') return this.drop(event.path);
      if (event.from !== undefined) this.drop(event.from);
      const slash = event.path.lastIndexOf('/');
      const parent = this.find(event.path.slice(0, Math.max(0, slash)));
      if (!parent?.kids || event.path === '') return;
      let names = this.pending.get(parent);
      if (!names) this.pending.set(parent, names = new Set());
      // Beyond the limit the directory is listed as a whole.
      if (names.size <= SINGLE_LIMIT) names.add(event.path.slice(slash + 1));
      later('changes', () => session?.tree.takeChanges());
    }
    drop(path) {
      const node = path && this.find(path);
      if (!node) return;
      const kids = node.parent.kids;
      let low = 0, high = kids.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (compareNames(kids[middle].name, node.name) < 0) low = middle + 1; else high = middle;
      }
      if (kids[low] !== node) low = kids.indexOf(node);
      kids.splice(low, 1);
      node.parent.names?.delete(node.name);
      if (node.parent.names) node.parent.names.count = kids.length;
      this.pending.delete(node);
      this.changed();
    }
    async takeChanges() {
      const waiting = this.pending;
      this.pending = new Map();
      for (const [parent, names] of waiting) {
        if (!parent.kids || parent.isLoading) { this.postpone(parent, names); continue; }
        if (names.size > SINGLE_LIMIT) {
          const pause = RELIST_PAUSE * (1 + parent.kids.length / PAGE);
          if (Date.now() - (parent.listed ?? 0) < pause) this.postpone(parent, names);
          else this.list(parent);
          continue;
        }
        const path = this.pathOf(parent);
        for (const name of names) await this.takeItem(parent, path ? `${path}/${name}` : name, name);
      }
    }
    /// After an action: settings such as pins are told by no event.
    async renew(path) {
      const node = this.find(path);
      if (!node?.parent) return;
      await this.takeItem(node.parent, path, node.name);
      if (node.isOpen) this.listAgain(node);
    }
    postpone(parent, names) {
      if (!parent.kids) return;
      this.pending.set(parent, new Set([...names, ...this.pending.get(parent) ?? []]));
      later('changes', () => session?.tree.takeChanges(), RELIST_PAUSE);
    }
    async takeItem(parent, path, name) {
      let item;
      try {
        item = await this.session.get(`/v1/items/status?${query(path)}`);
      } catch (error) {
        if (error.status === 404) this.drop(path);
        return;
      }
      if (!parent.kids || !this.isShown) return;
      const known = this.kid(parent, name);
      if (known) this.take(known, item);
      else this.insert(parent, this.node(item, parent));
      if (this.active && this.pathOf(this.active) === path) showDetails(true);
      this.changed();
    }
    insert(parent, node) {
      const kids = parent.kids;
      let low = 0, high = kids.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (compareNames(kids[middle].name, node.name) < 0) low = middle + 1; else high = middle;
      }
      kids.splice(low, 0, node);
      if (parent.names) { parent.names.set(node.name, node); parent.names.count = kids.length; }
    }
  }

  // The rows in sight: as many elements as fit, used again and again.
  const pool = [];
  function makeRow(number) {
    const row = el('div', { class: 'row', role: 'row', id: `row-${number}` });
    row.twisty = el('span', { class: 'twisty', 'aria-hidden': 'true' });
    row.name = el('bdi', { class: 'name' });
    const label = el('span', { class: 'label', role: 'gridcell' }, row.twisty, row.name);
    row.state = el('span', { role: 'gridcell' });
    row.size = el('span', { class: 'size', role: 'gridcell' });
    row.modified = el('span', { class: 'modified', role: 'gridcell' });
    row.label = label;
    row.append(label, row.state, row.size, row.modified);
    return row;
  }
  function setText(element, text) { if (element.textContent !== text) element.textContent = text; }
  function fillRow(row, node, number, isActive) {
    row.node = node;
    row.style.transform = `translateY(${number * ROW}px)`;
    row.classList.toggle('active', isActive);
    row.setAttribute('aria-rowindex', number + 1);
    row.setAttribute('aria-level', node.depth + 1);
    row.setAttribute('aria-selected', isActive);
    if (node.isDirectory) row.setAttribute('aria-expanded', node.isOpen); else row.removeAttribute('aria-expanded');
    row.label.style.paddingLeft = `${Math.min(node.depth, 12)}rem`;
    setText(row.twisty, node.isDirectory ? (node.isOpen ? '▾' : '▸') : '');
    setText(row.name, printable(node.name) + (node.isDirectory ? '/' : ''));
    row.name.classList.toggle('folder', node.isDirectory);
    row.title = printable(node.name) + (node.error ? `: ${printable(node.error)}` : '');
    row.state.className = `state ${node.state}`;
    setText(row.state, node.text);
    setText(row.size, node.isDirectory ? '' : bytes(node.size));
    setText(row.modified, Number.isNaN(node.modified) ? '' : timeFormat.format(node.modified));
    if (!row.isConnected) $('tree-space').append(row);
  }
  $('tree').addEventListener('scroll', () => soon('scroll', () => session?.tree.render()), { passive: true });
  $('tree').addEventListener('keydown', (event) => session?.tree.key(event));
  $('tree').addEventListener('focus', () => {
    if (session && !session.tree.active && session.tree.rows.length && $('tree').matches(':focus-visible')) session.tree.choose(0);
  });
  $('tree').addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (!row) return;
    const tree = session.tree;
    tree.choose(tree.rows.indexOf(row.node), false);
    if (event.target === row.twisty) tree.toggle(row.node);
  });
  $('tree').addEventListener('dblclick', (event) => {
    const row = event.target.closest('.row');
    if (row && event.target !== row.twisty) session.tree.toggle(row.node);
  });
  new ResizeObserver(() => soon('scroll', () => session?.tree.render())).observe($('tree'));

  // ---- The selected item

  let details = { path: undefined, load: 0, versions: false };
  async function showDetails(isForced) {
    const owner = session, node = owner?.tree.active;
    const box = $('details');
    if (!node) {
      details = { path: undefined, load: details.load + 1 };
      box.replaceChildren(el('p', { class: 'hint', text: 'Choose an item to see its state and what can be done with it.' }));
      box.known = undefined;
      return;
    }
    const path = owner.tree.pathOf(node);
    if (details.path === path && !isForced) return;
    if (details.path !== path) details = { path, load: details.load, versions: false };
    const load = ++details.load;
    let item, versions;
    try {
      item = await owner.get(`/v1/items/status?${query(path)}`);
      if (details.versions || (item.kind === 'file' && item.conflictCount > 0)) versions = await owner.get(`/v1/items/versions?${query(path)}`);
    } catch (error) {
      if (error.name !== 'AbortError' && details.load === load) {
        box.replaceChildren(nameOf(node.name, 'h3'), el('p', { class: 'hint', text: printable(error.message) }));
        box.known = undefined;
      }
      return;
    }
    if (details.load !== load || !owner.isShown) return;
    if (!box.known) box.replaceChildren();
    // In parts, so that a button stays under the pointer when only a figure changes.
    const parts = [{ part: 'name', name: item.displayName ?? path }, { part: 'facts', item }, { part: 'actions', path, names: actionsFor(item, versions) }];
    if (versions) parts.push({ part: 'versions', path, versions });
    renderList(box, parts, (one) => one.part, (one) => ({
      name: () => nameOf(one.name, 'h3'),
      facts: () => factsOf(one.item),
      actions: () => el('div', { class: 'actions' }, ...one.names.map((name) => itemAction(owner, path, name))),
      versions: () => el('div', { class: 'cards' }, versionList(owner, path, one.versions)),
    })[one.part]());
  }
  function fact(list, name, value, style) {
    if (value === undefined || value === null || value === '') return;
    const data = el('dd', { class: style });
    if (value instanceof Node) data.append(value); else data.textContent = printable(value);
    list.append(el('div', { class: style?.includes('wide') ? 'wide' : undefined }, el('dt', { text: name }), data));
  }
  function factsOf(item) {
    const list = el('dl', { class: 'facts' });
    fact(list, 'State', stateText(item) || 'Folder');
    if (item.kind === 'file') fact(list, 'Size', bytes(item.logicalSize));
    fact(list, 'Modified', time(item.modified));
    if (item.isDownloading) fact(list, 'Downloaded', `${Math.floor(item.percentDownloaded)}%`);
    fact(list, 'Download error', item.downloadingError?.text, 'bad wide');
    fact(list, 'Upload error', item.uploadingError?.text, 'bad wide');
    fact(list, 'Path', item.path, 'wide');
    return list;
  }
  /// The names of what can be done with an item.
  function actionsFor(item, versions) {
    const isFile = item.kind === 'file', isDirectory = item.kind === 'directory';
    const isLocal = item.downloadingStatus === 'Current', names = [];
    if (item.isDownloading || item.downloadRequested && !isLocal) names.push('cancel');
    else if (isDirectory) names.push('download-all');
    else if (isFile && !isLocal) names.push('download');
    if (isDirectory || isFile && item.downloadingStatus !== 'NotDownloaded') names.push('evict');
    names.push(item.pinned ? 'unpin' : 'pin');
    if (isFile && !versions) names.push('versions');
    return names;
  }
  function itemAction(owner, path, name) {
    const post = (label, route, body, done) => action(name, label, async () => {
      await owner.post(route, { path, ...body });
      owner.tree.renew(path);
      return done;
    });
    switch (name) {
      case 'cancel': return post('Cancel download', '/v1/items/cancel-download', {}, 'The download was cancelled.');
      case 'download-all': return post('Download all', '/v1/items/download', { wait: false }, 'The downloads were requested.');
      case 'download': return post('Download now', '/v1/items/download', { wait: false }, 'The download was requested.');
      case 'evict': return post('Free up space', '/v1/items/evict', {}, 'The bytes were removed from this device.');
      case 'unpin': return post('Do not keep here', '/v1/items/pin', { pinned: false });
      case 'pin': return post('Keep on this device', '/v1/items/pin', { pinned: true });
      default: return action(name, 'Versions', async () => { details.versions = true; await showDetails(true); });
    }
  }
  function versionList(owner, path, versions) {
    const hasConflict = versions.some((version) => version.kind === 'conflict');
    const list = el('ul', {});
    for (const version of versions) {
      const kind = { current: 'Current', conflict: 'Conflict', earlier: 'Earlier' }[version.kind] ?? version.kind;
      const row = el('li', {}, el('span', {}, `${kind}, ${time(version.date)}, ${bytes(version.size)}`, version.computer ? ', ' : '', version.computer ? nameOf(version.computer) : null));
      if (hasConflict && version.kind !== 'earlier') {
        row.append(action(`keep-${version.id}`, 'Keep this', async () => {
          if (!await confirmed(`Keep this version of ${path}? The other conflict versions are discarded on all devices.`, 'Keep this version')) return;
          await owner.post('/v1/items/resolve', { path, keep: version.id });
          afterResolving();
          return 'The conflict is resolved.';
        }));
      } else if (version.kind === 'earlier') {
        row.append(action(`restore-${version.id}`, 'Restore', async () => {
          if (!await confirmed(`Make this version of ${path} the current one? The current one becomes an earlier version.`, 'Restore')) return;
          await owner.post('/v1/items/restore-version', { path, id: version.id });
          showDetails(true);
          return 'The version is current again.';
        }));
      }
      list.append(row);
    }
    return list;
  }
  function afterResolving() {
    showDetails(true);
    if (tab === 'conflicts') panels.conflicts.load();
  }

  // ---- The container

  async function loadStatus() {
    const owner = session;
    if (!owner) return;
    let status;
    try {
      status = await owner.get('/v1/status');
    } catch (error) {
      if (error.name !== 'AbortError' && owner.isShown) connection('lost', printable(error.message));
      return;
    }
    if (!owner.isShown) return;
    // A daemon that was too busy to answer in time is not lost.
    if (owner.isLive) connection('live', 'Live');
    owner.status = status;
    statuses.set(owner.id, status);
    showSummary(owner, status);
    showContainers();
  }
  function storeText(status) {
    if (status.problem) return ['Blocked', 'bad'];
    if (status.isPaused) return ['Paused', 'warn'];
    const known = { reachable: ['Reachable', 'good'], failing: ['Failing', 'warn'], unreachable: ['Not reachable', 'bad'] }[status.store];
    return known ?? ['In use', 'good'];
  }
  const pendingText = (status) => status.pendingUploadCount === 0 ? 'Nothing'
    : count(status.pendingUploadCount, 'change') + (status.pendingUploadByteCount > 0 ? `, ${bytes(status.pendingUploadByteCount)}` : '');
  const SUMMARY = [
    ['Store', storeText],
    ['Safe to shut down', (status) => status.pendingUploadCount > 0 ? ['Not yet', 'warn'] : status.problem ? ['Unknown', 'bad'] : ['Yes', 'good']],
    ['Waiting to upload', (status) => [pendingText(status)]],
    ['Downloads running', (status) => [String(status.activeDownloadCount)]],
    ['Items', (status) => [Number(status.itemCount).toLocaleString('en')]],
    ['On this device', (status) => [`${count(status.downloadedFileCount, 'file')}, ${bytes(status.downloadedByteCount)}`]],
    ['Free disk space', (status) => [status.cache && bytes(status.cache.freeByteCount)]],
    ['Device', (status) => [status.deviceName]],
    ['Mounted at', (status) => [status.mountpoint], 'wide'],
    ['Container', (status) => [status.remote], 'wide'],
  ];
  /// Takes the place of the summary until the status has come: what is below must not move away from under a click.
  function showEmptySummary(container) {
    $('summary').hidden = false;
    setText($('name'), '…');
    renderList($('facts'), [container.mountpoint], () => 'facts', () => {
      const list = el('dl', { class: 'facts' });
      for (const [name, , width] of SUMMARY) fact(list, name, name === 'Mounted at' ? container.mountpoint : '…', width);
      return list;
    });
    renderList($('container-actions'), [null], () => 'pause', () => el('button', { type: 'button', 'aria-disabled': true, text: 'Pause sync' }));
  }
  function showSummary(owner, status) {
    $('summary').hidden = false;
    setText($('name'), printable(status.name));
    document.title = `${printable(status.name)} – Dewpoint`;
    renderList($('facts'), [status], () => 'facts', () => {
      const list = el('dl', { class: 'facts' });
      const access = { store: 'Read-only: the store refuses writing', option: 'Read-only, as mounted' }[status.readOnly?.reason];
      fact(list, 'Changes', access, 'warn');
      for (const [name, valueOf, width] of SUMMARY) {
        const [value, style = width] = valueOf(status);
        fact(list, name, value, style);
      }
      return list;
    });
    renderList($('container-actions'), [status.isPaused], () => 'pause', (paused) =>
      action('pause', paused ? 'Resume sync' : 'Pause sync', async () => {
        await owner.post('/v1/items/pause', { path: '', paused: !paused });
        loadStatus();
      }));
    const alerts = [];
    if (status.problem) alerts.push({ kind: 'problem', text: status.problem });
    for (const device of status.overdue ?? []) alerts.push({ kind: 'overdue', device });
    for (const peer of status.peers ?? []) if (peer.isMissingHere) alerts.push({ kind: 'missing', device: peer });
    if (status.heldDeletionCount > 0) alerts.push({ kind: 'held', count: status.heldDeletionCount });
    for (const storm of status.storms ?? []) if (['held', 'refused', 'noticed'].includes(storm.state)) alerts.push({ kind: 'storm', storm });
    renderList($('alerts'), alerts, (alert) => `${alert.kind} ${alert.storm?.group ?? alert.device?.device ?? ''}`, (alert) => alertOf(owner, alert));
    setCount('conflicts', status.totals?.conflictCount);
  }
  function alertOf(owner, alert) {
    if (alert.kind === 'problem') return el('div', { class: 'alert error' }, el('span', { text: printable(alert.text) }));
    if (alert.kind === 'overdue') {
      return el('div', { class: 'alert' }, el('span', {
        text: `${printable(alert.device.name)} has not committed since ${time(alert.device.last)}, although it promised to: it is off or offline, or the store withholds its commits.` }));
    }
    if (alert.kind === 'missing') {
      return el('div', { class: 'alert' }, el('span', {
        text: `Commit ${alert.device.commit} of ${printable(alert.device.name || alert.device.device)} has not been found in the store for more than a minute.` }));
    }
    if (alert.kind === 'held') {
      const answer = (discard, text, verb) => async () => {
        if (!await confirmed(text, verb)) return;
        await owner.post('/v1/deletions/answer', { discard });
        loadStatus();
      };
      return el('div', { class: 'alert' },
        el('span', { text: `${count(alert.count, 'deletion')} of more than half of the container wait for an answer.` }),
        el('div', { class: 'actions' },
          action('held-restore', 'Restore the items', answer(true, 'Restore the items from the container?', 'Restore')),
          action('held-delete', 'Delete everywhere', answer(false, `Delete ${count(alert.count, 'item')} on all devices?`, 'Delete everywhere'), 'danger')));
    }
    const storm = alert.storm;
    const answer = (allowed) => async () => { await owner.post('/v1/storms/answer', { process: storm.group, allowed }); loadStatus(); };
    const what = { held: `is held, ${count(storm.waitingReadCount, 'read')} waiting`, refused: 'is refused', noticed: 'is not limited' }[storm.state];
    const buttons = el('div', { class: 'actions' });
    if (storm.state !== 'noticed') buttons.append(action('storm-allow', 'Allow its downloads', answer(true)));
    if (storm.state !== 'refused') buttons.append(action('storm-refuse', 'Refuse its downloads', answer(false), 'danger'));
    return el('div', { class: 'alert' }, el('span', {}, nameOf(storm.program),
      ` (process group ${storm.group}) downloads much by reading: ${count(storm.fileCount, 'file')}, ${bytes(storm.byteCount)} within a minute; it ${what}.`), buttons);
  }

  // ---- The other views

  const panel = (name) => $(`panel-${name}`);
  /// A note and a list below it, made once.
  function frame(name, makeTop) {
    const box = panel(name);
    if (!box.list) {
      box.note = el('p', { class: 'hint' });
      box.list = el('ul', { class: 'cards' });
      box.replaceChildren(...[makeTop?.(), box.note, box.list].filter(Boolean));
    }
    return box;
  }
  function showCards(name, values, keyOf, build, empty, makeTop) {
    const box = frame(name, makeTop);
    const shown = values.slice(0, SHOWN_LIMIT);
    setText(box.note, values.length === 0 ? empty : shown.length < values.length ? `The first ${shown.length} of ${count(values.length, 'entry').replace('entrys', 'entries')}.` : '');
    box.note.hidden = box.note.textContent === '';
    renderList(box.list, shown, keyOf, build);
  }
  /// Loads a view; a route that the daemon lacks is said in words.
  async function loading(name, run, missing) {
    const owner = session;
    if (!owner) return;
    try {
      await run(owner);
    } catch (error) {
      if (error.name === 'AbortError' || !owner.isShown) return;
      const box = frame(name);
      box.note.hidden = false;
      setText(box.note, missing && (error.status === 404 || error.status === 501 && missing.anyway) ? missing.text ?? missing : printable(error.message));
    }
  }

  const panels = {
    files: { title: 'Files', load: () => session?.tree.render() },
    pictures: { title: 'Pictures', load: () => loading('pictures', (owner) => showPictures(owner, owner.tree.directory)) },
    transfers: {
      title: 'Transfers', every: 1000,
      load: () => loading('transfers', async (owner) => {
        const found = await owner.get('/v1/transfers');
        if (!owner.isShown) return;
        const active = found.transfers ?? found.active ?? [], waiting = found.waiting ?? [];
        showCards('transfers', [...active, ...waiting], (one) => `${one.direction} ${one.path}`, transferCard, 'Nothing is transferred, and nothing waits.');
      }, 'This daemon does not list its transfers; the counts above are all that is known.'),
    },
    locks: {
      title: 'Locks', every: 2000,
      load: () => loading('locks', async (owner) => {
        const locks = (await owner.get('/v1/locks')).filter((lock) => lock.holders.length + lock.waiters.length + lock.presenters.length > 0);
        // Ages change all the time; whole seconds suffice.
        for (const party of locks.flatMap((lock) => [...lock.holders, ...lock.waiters])) party.ageSeconds = Math.round(party.ageSeconds);
        if (owner.isShown) showCards('locks', locks, (lock) => lock.inode, (lock) => lockCard(owner, lock), 'Nothing is locked.');
      }),
    },
    conflicts: {
      title: 'Conflicts',
      load: () => loading('conflicts', async (owner) => {
        const box = frame('conflicts');
        if (!box.list.childElementCount) { box.note.hidden = false; setText(box.note, 'Looking for conflicts…'); }
        const paths = await conflictPaths(owner);
        const found = [];
        for (const path of paths.slice(0, SHOWN_LIMIT)) {
          try {
            found.push({ path, versions: (await owner.get(`/v1/items/versions?${query(path)}`)).filter((version) => version.kind !== 'earlier') });
          } catch (error) {
            if (error.status !== 404) throw error;
          }
        }
        if (!owner.isShown) return;
        setCount('conflicts', paths.length);
        showCards('conflicts', found, (one) => one.path, (one) => el('li', { class: 'card' }, nameOf(one.path, 'h3'), versionList(owner, one.path, one.versions)), 'There are no conflicts.');
      }),
    },
    trash: {
      title: 'Trash',
      load: () => loading('trash', async (owner) => {
        owner.trash = await owner.get('/v1/trash');
        if (owner.isShown) showTrash(owner);
      }),
    },
    devices: {
      title: 'Devices', every: 10000,
      load: () => loading('devices', async (owner) => {
        const devices = await owner.get('/v1/devices'), peers = owner.status?.peers ?? [];
        // One that has not committed yet has no name, and no place in the list of devices.
        for (const peer of peers) if (!devices.some((device) => device.device === peer.device)) devices.push(peer);
        for (const device of devices) device.heard = peers.find((peer) => peer.device === device.device);
        if (owner.isShown) showCards('devices', devices, (device) => device.device, deviceCard, 'No device is known.');
      }, 'This daemon does not list devices.'),
    },
    activity: { title: 'Activity', load: () => showActivity() },
    link: { title: 'Link', every: 5000, load: () => loading('link', showLink, 'This daemon has no link conditioner.') },
    log: {
      title: 'Log', every: 2000,
      load: () => loading('log', async (owner) => {
        const tail = await owner.get(`/v1/log?lines=${LOG_LINES}`);
        if (owner.isShown) showLog(tail.lines);
      }, 'This daemon does not show its log.'),
    },
  };

  function transferCard(one) {
    const total = one.bytesTotal ?? one.byteCount ?? 0, why = one.waits ?? one.reason;
    const isUp = one.direction === 'up';
    const parts = [isUp ? (one.isDeletion ? 'Deletion to upload' : 'Upload') : 'Download'];
    if (total > 0) parts.push(`${bytes(one.bytesDone ?? 0)} of ${bytes(total)}`);
    if (one.bytesPerSecond > 0) parts.push(`${bytes(one.bytesPerSecond)}/s`);
    if (one.secondsLeft > 0) parts.push(`${duration(one.secondsLeft)} left`);
    if (one.bytesPerSecond === undefined) parts.push(why ? `waits: ${printable(why)}` : 'waits');
    const card = el('li', { class: 'card' }, el('div', { class: 'line' }, nameOf(one.path, 'span'), el('span', { class: 'dim', text: parts.join(', ') })));
    if (total > 0) card.append(el('progress', { max: total, value: one.bytesDone ?? 0, 'aria-label': `${isUp ? 'Upload' : 'Download'} of ${printable(one.path)}` }));
    return card;
  }
  function lockCard(owner, lock) {
    const party = (one, verb) => {
      const who = `${one.command || 'process'} (${one.processes.join(', ')})`;
      const text = `${verb} ${printable(one.kind)}${one.detail ? `, ${printable(one.detail)}` : ''}, for ${duration(one.ageSeconds)}${one.waitsFor.length ? `, waits for ${one.waitsFor.join(', ')}` : ''}${one.isDeadlocked ? ', deadlocked' : ''}`;
      return el('li', {}, el('span', {}, nameOf(who), `: ${text}`), one.claim !== undefined && one.claim !== null
        ? action(`break-${one.claim}`, 'Revoke', async () => {
          if (!await confirmed(`Revoke the claim of ${who}? The program is notified, and may lose changes.`, 'Revoke')) return;
          await owner.post('/v1/claims/break', { id: one.claim });
          panels.locks.load();
        }, 'danger') : null);
    };
    return el('li', { class: 'card' }, nameOf(lock.path || '(a file without a name)', 'h3'), el('ul', {},
      ...lock.holders.map((one) => party(one, 'holds')), ...lock.waiters.map((one) => party(one, 'waits for')),
      ...lock.presenters.map((one) => el('li', {}, el('span', {}, nameOf(`${one.command} (${one.process})`), one.isUnresponsive ? ': presents it, and does not answer' : ': presents it')))));
  }
  /// From the daemon's list, or, where it has none, from the states of all items.
  async function conflictPaths(owner) {
    try {
      const found = await owner.get('/v1/conflicts');
      return (Array.isArray(found) ? found : found.conflicts ?? found.items ?? []).map((one) => one.path ?? one);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    if (owner.status?.totals?.conflictCount === 0) return [];
    const stop = new AbortController();
    const response = await request(`/api/containers/${owner.id}/v1/items/follow?${query('')}`, { signal: AbortSignal.any([owner.signal, stop.signal]) });
    const paths = [];
    try {
      await owner.readLines(response.body, (line) => {
        const update = JSON.parse(line);
        if (update.item?.conflictCount > 0) paths.push(update.item.path);
        if (update.gathered) stop.abort();
      });
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
    return paths;
  }
  function showTrash(owner) {
    const box = frame('trash', () => el('input', { class: 'filter', id: 'trash-filter', type: 'search', placeholder: 'Show only paths with…', 'aria-label': 'Show only paths with this text' }));
    const input = $('trash-filter');
    input.oninput = () => soon('trash-filter', () => session && showTrash(session));
    const wanted = input.value.toLowerCase();
    const found = (owner.trash ?? []).filter((item) => !wanted || item.path.toLowerCase().includes(wanted));
    box.hidden = tab !== 'trash';
    showCards('trash', found, (item) => item.item, (item) => el('li', { class: 'card' }, el('div', { class: 'line' },
      el('span', {}, nameOf(item.path + (item.kind === 'directory' ? '/' : '')), el('br'),
        el('span', { class: 'dim', text: `Deleted ${time(item.deleted)}${item.kind === 'file' ? `, ${bytes(item.size)}` : ''}` })),
      action('restore', 'Restore', async () => {
        const restored = await owner.post('/v1/trash/restore', { item: item.item });
        panels.trash.load();
        return `Restored as ${restored.path}`;
      }))), 'Nothing was deleted in the last 30 days.');
  }
  const deviceCard = (device) => el('li', { class: 'card' }, el('div', { class: 'line' }, nameOf(device.name || 'unnamed'),
    device.isThisDevice ? el('span', { class: 'good', text: 'This device' }) : null,
    device.heard ? el('span', { class: 'dim', text: `heard ${device.heard.secondsAgo} s ago from ${device.heard.address}` }) : null),
    el('span', { class: 'dim', text: printable(device.device) }));

  const EVENTS = {
    appeared: 'Appeared', changed: 'Changed', moved: 'Moved', deleted: 'Deleted', versionGained: 'Version added',
    versionLost: 'Version removed', versionResolved: 'Conflict resolved', ubiquityAttributes: 'State changed',
  };
  function showActivity() {
    const owner = session;
    if (!owner || tab !== 'activity') return;
    const box = frame('activity');
    box.list.className = 'events';
    setText(box.note, owner.events.length ? '' : 'Events appear here as they happen.');
    box.note.hidden = box.note.textContent === '';
    for (const event of owner.events) event.number ??= ++eventNumber;
    renderList(box.list, owner.events, (event) => event.number, (event) => el('li', {},
      el('time', { class: 'dim', text: time(event.time, clockFormat) }), el('span', { text: EVENTS[event.event] ?? event.event }),
      el('span', {}, nameOf(event.path || '/'), event.from !== undefined ? ' from ' : '', event.from !== undefined ? nameOf(event.from) : null),
      el('span', { class: 'dim' }, event.origin ? nameOf(event.origin) : '')));
  }
  let eventNumber = 0;

  function showLog(lines) {
    const box = frame('log');
    box.note.hidden = true;
    box.text ??= box.appendChild(el('pre', { class: 'log', tabindex: '0', 'aria-label': 'The end of the log' }));
    const text = lines.map(printable).join('\n');
    if (box.text.textContent === text) return;
    const isAtEnd = box.text.scrollTop + box.text.clientHeight >= box.text.scrollHeight - 4;
    box.text.textContent = text;
    if (isAtEnd) box.text.scrollTop = box.text.scrollHeight;
  }

  // As in LinkProfile of the daemon: delay in milliseconds, KiB/s down and up, percent of requests lost.
  const PROFILES = {
    '3G': [200, 95, 40, 0], DSL: [10, 244, 31, 0], Edge: [840, 29, 24, 0], LTE: [115, 6104, 1221, 0],
    'Wi-Fi': [2, 4883, 4028, 0], 'Wi-Fi-802.11ac': [2, 30518, 12207, 0], 'Very-Bad-Network': [1000, 122, 122, 10],
    '100%-loss': [0, undefined, undefined, 100],
  };
  const LINK_FIELDS = [['delayMilliseconds', 'Delay (ms)'], ['downKiBPerSecond', 'Down (KiB/s)'], ['upKiBPerSecond', 'Up (KiB/s)'], ['lossPercent', 'Loss (%)']];
  async function showLink(owner) {
    const link = await owner.get('/v1/link');
    if (!owner.isShown) return;
    const box = frame('link');
    box.note.hidden = true;
    renderList(box.list, [link], () => 'link', () => {
      const parts = [];
      if (link.profile) parts.push(printable(link.profile));
      if (link.delayMilliseconds) parts.push(`${link.delayMilliseconds} ms delay`);
      if (link.downKiBPerSecond) parts.push(`${link.downKiBPerSecond} KiB/s down`);
      if (link.upKiBPerSecond) parts.push(`${link.upKiBPerSecond} KiB/s up`);
      if (link.lossPercent) parts.push(`${link.lossPercent}% of requests lost`);
      const inputs = LINK_FIELDS.map(([key]) => el('input', { type: 'number', min: 0, step: 'any', id: `link-${key}`, value: link[key] ?? undefined }));
      const profile = el('select', { id: 'link-profile' }, el('option', { value: '', text: 'Own figures' }),
        ...Object.keys(PROFILES).map((name) => el('option', { value: name, text: name, selected: name === link.profile })));
      profile.addEventListener('change', () => {
        const figures = PROFILES[profile.value];
        if (figures) figures.forEach((figure, index) => { inputs[index].value = figure ?? ''; });
      });
      const send = (settings) => async () => { await owner.post('/v1/link', settings()); await showLink(owner); };
      const settings = () => {
        const chosen = profile.value ? { profile: profile.value } : {};
        LINK_FIELDS.forEach(([key], index) => {
          const value = inputs[index].value === '' ? undefined : Number(inputs[index].value);
          if (value !== undefined) chosen[key] = key === 'lossPercent' ? value : Math.round(value);
        });
        return { link: { delayMilliseconds: 0, lossPercent: 0, ...chosen } };
      };
      const field = (text, input) => el('label', { class: 'field' }, text, input);
      return el('li', { class: 'card' },
        el('p', { text: parts.length ? `Limited: ${parts.join(', ')}.` : 'The link to the store is not limited.' }),
        el('div', { class: 'form' }, field('Profile', profile), ...LINK_FIELDS.map(([, text], index) => field(text, inputs[index]))),
        el('div', { class: 'actions' }, action('link-set', 'Apply', send(settings), 'strong'), action('link-clear', 'Clear', send(() => ({})))));
    });
  }

  // ---- Pictures

  // What has no preview, and is no directory, is not shown here. Previews are other devices' bytes: the browser decodes them.
  async function showPictures(owner, path) {
    const box = frame('pictures', () => el('div', { class: 'actions' }));
    const load = owner.pictureLoad = {};
    const shown = [];
    let after, isCut = false, seen = 0;
    do {
      const next = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
      const page = await owner.get(`/v1/items?${query(path)}${next}&limit=${PAGE}`);
      if (owner.pictureLoad !== load || !owner.isShown) return;
      shown.push(...page.items.filter((item) => item.kind === 'directory' || item.hasPreview));
      after = page.next;
      seen += page.items.length;
      isCut = shown.length > TILES || after !== undefined && seen >= DIRECTORY_LIMIT;
    } while (after !== undefined && !isCut);
    box.list.className = 'tiles';
    const up = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    box.firstChild.replaceChildren(...[
      path && action('up', 'Up', () => showPictures(owner, up)), nameOf(path || 'The container', 'h3')].filter(Boolean));
    const count = shown.filter((item) => item.hasPreview).length;
    box.note.hidden = count > 0 && !isCut;
    setText(box.note, isCut ? `The first ${Math.min(shown.length, TILES)} of more.` : 'No file here has a preview.');
    watched?.disconnect();
    watched = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        watched.unobserve(target);
        wantedPreviews.set(target.dataset.path, target);
      }
      if (wantedPreviews.size > 0) later('previews', () => loadPreviews(owner), PREVIEW_PAUSE);
    }, { root: null, rootMargin: '400px' });
    wantedPreviews.clear();
    box.list.known = undefined;
    box.list.replaceChildren();
    renderList(box.list, shown.slice(0, TILES), (item) => item.path, (item) => tile(owner, item));
    for (const image of box.list.querySelectorAll('[data-path]')) watched.observe(image);
  }
  let watched;
  const wantedPreviews = new Map();   // the images that came into sight, by path
  function tile(owner, item) {
    const name = item.path.slice(item.path.lastIndexOf('/') + 1), isDirectory = item.kind === 'directory';
    const open = async () => {
      if (isDirectory) return loading('pictures', () => showPictures(owner, item.path));
      chooseTab('files');
      await owner.tree.reveal(item.path);
    };
    return el('li', {}, el('button', { type: 'button', class: 'tile', title: printable(name), on: open },
      isDirectory ? el('span', { class: 'folder', text: '▸' }) : el('img', { 'data-path': item.path, alt: '' }),
      nameOf(name, 'span')));
  }
  async function loadPreviews(owner) {
    const paths = [];
    let length = 0;
    for (const path of wantedPreviews.keys()) {
      length += path.length * 6;   // at most, in JSON
      if (paths.length === PREVIEW_BATCH || length > PREVIEW_BODY) break;
      paths.push(path);
    }
    const images = new Map(paths.map((path) => [path, wantedPreviews.get(path)]));
    for (const path of paths) wantedPreviews.delete(path);
    try {
      for (const { path, preview } of (await owner.post('/v1/previews', { paths })).previews) {
        images.get(path).src = `data:image/jpeg;base64,${preview}`;
      }
    } catch (error) {
      if (error.name !== 'AbortError' && owner.isShown) notify(`The previews cannot be shown: ${error.message}`, true);
      return;
    }
    if (wantedPreviews.size > 0) later('previews', () => loadPreviews(owner), 0);
  }

  // ---- Tabs

  let tab = 'files', tabTimer;
  function makeTabs() {
    const names = Object.keys(panels);
    $('tabs').append(...names.map((name) => el('button', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, text: panels[name].title, on: () => { chooseTab(name); if (innerWidth <= NARROW) $('tabs').scrollIntoView({ block: 'start' }); },
    })));
    $('tabs').addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = event.key === 'Home' ? 0 : event.key === 'End' ? names.length - 1
        : step && (names.indexOf(tab) + step + names.length) % names.length;
      if (next === undefined) return;
      event.preventDefault();
      chooseTab(names[next]);
      $(`tab-${names[next]}`).focus();
    });
  }
  function setCount(name, number) {
    const button = $(`tab-${name}`);
    button.querySelector('.count')?.remove();
    if (number > 0) button.append(el('span', { class: 'count', text: String(number) }));
  }
  function chooseTab(name) {
    tab = name;
    for (const other of Object.keys(panels)) {
      const isChosen = other === name;
      $(`tab-${other}`).setAttribute('aria-selected', isChosen);
      $(`tab-${other}`).tabIndex = isChosen ? 0 : -1;
      panel(other).hidden = !isChosen;
    }
    $(`tab-${name}`).scrollIntoView({ block: 'nearest', inline: 'nearest' });
    clearTimeout(tabTimer);
    tick();
  }
  /// Refreshes a view whose contents come without events, as long as it is seen.
  async function tick() {
    const name = tab;
    if (!document.hidden) await panels[name].load();
    if (panels[name].every && tab === name) {
      clearTimeout(tabTimer);
      tabTimer = setTimeout(tick, panels[name].every);
    }
  }

  // ---- Containers

  let session = null, containers = [];
  const statuses = new Map();
  function showContainers() {
    const values = containers.map((one) => {
      const status = statuses.get(one.id);
      const state = !status ? ['…', ''] : status.error ? [status.error, 'bad'] : storeText(status);
      return { ...one, name: status?.name ?? one.mountpoint, state: status && !status.error && status.pendingUploadCount > 0 ? [`${count(status.pendingUploadCount, 'change')} to upload`, 'warn'] : state, isCurrent: session?.id === one.id };
    });
    $('no-containers').hidden = values.length > 0;
    renderList($('container-list'), values, (one) => one.id, (one) => el('li', {}, el('button', {
      type: 'button', 'aria-current': one.isCurrent ? 'true' : undefined, 'data-action': 'open', on: () => open(one.id),
    }, el('b', { class: 'name', text: printable(one.name) }), el('span', { text: printable(one.mountpoint) }), el('span', { class: one.state[1] === 'bad' ? 'bad' : '', text: printable(one.state[0]) }))));
  }
  async function loadContainers() {
    try {
      containers = await (await request('/api/containers', { limit: REQUEST_LIMIT })).json();
    } catch (error) {
      connection('lost', error.status === 401 ? 'No access: open the link that “dewpoint dashboard” printed' : printable(error.message));
      return;
    }
    const ids = new Set(containers.map((one) => one.id));
    for (const id of statuses.keys()) if (!ids.has(id)) statuses.delete(id);
    if (session && !ids.has(session.id)) {
      session.end();
      session = null;
      for (const id of ['summary', 'tabs', ...Object.keys(panels).map((name) => `panel-${name}`)]) $(id).hidden = true;
      notify('The container was unmounted.');
    }
    if (containers.length === 0) connection('live', 'Live');
    showContainers();
  }
  async function loadOtherStatuses() {
    for (const { id } of containers) {
      if (id === session?.id) continue;
      try {
        statuses.set(id, await (await request(`/api/containers/${id}/v1/status`, { limit: REQUEST_LIMIT })).json());
      } catch (error) {
        statuses.set(id, { error: error.message });
      }
      showContainers();
    }
  }
  async function open(id, path = '') {
    const container = containers.find((one) => one.id === id);
    if (!container) return;
    session?.end();
    session = new Session(id, container.mountpoint);
    for (const name of Object.keys(panels)) if (name !== 'files') { panel(name).replaceChildren(); panel(name).list = panel(name).text = undefined; }
    setCount('conflicts', 0);
    for (const list of ['facts', 'alerts', 'container-actions']) { $(list).replaceChildren(); $(list).known = undefined; }
    showEmptySummary(container);
    $('tabs').hidden = false;
    $('tree').scrollTop = 0;
    if (!path) history.replaceState(null, '', `#${id}`);
    showContainers();
    session.tree.changed();
    chooseTab(tab);
    loadStatus();
    showDetails();
    const opened = session;
    opened.follow();
    await Promise.race([opened.isFollowed, sleep(FOLLOW_WAIT)]);
    // Without the stream, everything is listed again once there is one.
    if (opened.isShown) await opened.tree.reveal(path);
  }

  async function start() {
    $('notice-close').addEventListener('click', () => { $('notice').hidden = true; });
    makeTabs();
    const [, wanted, path] = /^#([0-9a-f]{16})(?:\/(.*))?$/.exec(location.hash) ?? [];
    await loadContainers();
    let target = '';
    // An address that somebody edited by hand may not be valid.
    try { target = decodeURIComponent(path ?? ''); } catch { /* the container's root then */ }
    const first = containers.find((one) => one.id === wanted) ?? containers[0];
    if (first) open(first.id, first.id === wanted ? target : '');
    for (;;) {
      await loadOtherStatuses();
      await sleep(CONTAINERS_EVERY);
      if (document.hidden) continue;
      await loadContainers();
      if (session) loadStatus();
      else if (containers.length > 0) open(containers[0].id);
    }
  }
  start();
})();
