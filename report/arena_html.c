/* arena_html.c - an arena as one page that needs nothing else: hover tells what a buffer is, the wheel
 * zooms, dragging moves, a menu switches between strategies. The data goes in as JSON; the page's
 * program draws it. */
#include "arena.h"
#include "json.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Arena</title>\n<style>\n"
    ":root{color-scheme:light dark;--page:#fff;--ink:#222;--soft:#666;--line:#ccc;--bound:#c02020;"
    "--glow:60%;--card:#f4f4f6}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#16181c;--ink:#ddd;--soft:#999;--line:#444;"
    "--bound:#ff7070;--glow:42%;--card:#22252b}}\n"
    "body{margin:0;font:14px/1.4 sans-serif;background:var(--page);color:var(--ink);display:flex;"
    "flex-direction:column;height:100vh}\n"
    "header{display:flex;gap:1em;align-items:center;padding:.5em 1em;flex-wrap:wrap}\n"
    "h1{font-size:1em;margin:0}\n#facts{color:var(--soft)}\n"
    "svg{flex:1;width:100%;min-height:0;cursor:crosshair;touch-action:none}\n"
    "text{fill:var(--ink);font-size:12px}\n"
    "rect.b{stroke:var(--page);stroke-width:.6;vector-effect:non-scaling-stroke}\n"
    "rect.b:hover{stroke:var(--ink);stroke-width:2}\n"
    "rect.s{fill:#888;fill-opacity:.55}\n"
    "path.c{fill:none;stroke:var(--bound);stroke-width:1.5;vector-effect:non-scaling-stroke;"
    "pointer-events:none}\n"
    "line{stroke:var(--line)}\n"
    "#tip{position:fixed;pointer-events:none;background:var(--card);border:1px solid var(--line);"
    "border-radius:4px;padding:.4em .6em;white-space:pre-line;max-width:46em;"
    "overflow-wrap:anywhere;display:none}\n"
    "</style></head><body>\n<header><h1 id=\"title\"></h1>\n"
    "<label>strategy <select id=\"strategy\"></select></label>\n"
    "<button id=\"reset\">whole arena</button>\n<span id=\"facts\"></span></header>\n"
    "<svg id=\"plot\"></svg><div id=\"tip\"></div>\n<script id=\"data\" type=\"application/json\">\n";

static const char tail[] =
    "\n</script>\n<script>\n\"use strict\";\n"
    "const data = JSON.parse(document.getElementById('data').textContent);\n"
    "const svg = document.getElementById('plot'), tip = document.getElementById('tip');\n"
    "const menu = document.getElementById('strategy');\n"
    "const space = {left: 84, right: 14, top: 10, bottom: 34};\n"
    "let view = 0, frame = null;\n"
    "document.title = data.title;\n"
    "document.getElementById('title').textContent = data.title;\n"
    "data.views.forEach((v, i) => menu.add(new Option(v.name, i)));\n"
    "function whole() {\n"
    "  const times = data.buffers.flatMap(b => [b.lower, b.upper]);\n"
    "  const top = Math.max(1, data.views[view].arena);\n"
    "  return {t0: times.length ? times.reduce((a, b) => Math.min(a, b)) : 0,\n"
    "          t1: times.length ? times.reduce((a, b) => Math.max(a, b)) : 1, b0: 0, b1: top};\n"
    "}\n"
    "function bytes(n) {\n"
    "  if (n >= 1048576) return (n / 1048576).toFixed(2) + ' MiB';\n"
    "  return n >= 1024 ? (n / 1024).toFixed(1) + ' KiB' : Math.round(n) + ' B';\n"
    "}\n"
    "function add(name, attributes, parent = svg) {\n"
    "  const e = document.createElementNS('http://www.w3.org/2000/svg', name);\n"
    "  for (const k in attributes) e.setAttribute(k, attributes[k]);\n"
    "  return parent.appendChild(e);\n"
    "}\n"
    "function draw() {\n"
    "  const w = svg.clientWidth, h = svg.clientHeight, f = frame, v = data.views[view];\n"
    "  const x = t => space.left + (w - space.left - space.right) * (t - f.t0) / (f.t1 - f.t0);\n"
    "  const y = b => h - space.bottom - (h - space.top - space.bottom) * (b - f.b0) / (f.b1 - f.b0);\n"
    "  svg.replaceChildren();\n"
    "  const clip = add('clipPath', {id: 'inside'});\n"
    "  add('rect', {x: space.left, y: space.top, width: Math.max(0, w - space.left - space.right),\n"
    "      height: Math.max(0, h - space.top - space.bottom)}, clip);\n"
    "  for (let i = 0; i <= 5; i++) {\n"
    "    const b = f.b0 + (f.b1 - f.b0) * i / 5;\n"
    "    add('line', {x1: space.left, x2: w - space.right, y1: y(b), y2: y(b)});\n"
    "    add('text', {x: space.left - 6, y: y(b) + 4, 'text-anchor': 'end'}).textContent = bytes(b);\n"
    "    const t = Math.round(f.t0 + (f.t1 - f.t0) * i / 5);\n"
    "    add('text', {x: x(t), y: h - 16, 'text-anchor': 'middle'}).textContent = t;\n"
    "  }\n"
    "  add('text', {x: w / 2, y: h - 2, 'text-anchor': 'middle'}).textContent = 'step';\n"
    "  const all = add('g', {'clip-path': 'url(#inside)'});\n"
    "  data.buffers.forEach((b, i) => {\n"
    "    const at = v.offsets[i];\n"
    "    if (!b.size || b.upper < f.t0 || b.lower > f.t1 || at > f.b1 || at + b.size < f.b0) return;\n"
    "    const r = add('rect', {class: b.scratch ? 'b s' : 'b', x: x(b.lower), y: y(at + b.size),\n"
    "        width: x(b.upper) - x(b.lower), height: y(at) - y(at + b.size), 'data-index': i}, all);\n"
    "    if (!b.scratch) r.style.fill = `hsl(${i * 137.508 % 360} 55% var(--glow))`;\n"
    "  });\n"
    "  let d = '';\n"
    "  data.curve.forEach((p, i) => d += (i ? 'L' : 'M') + x(p[0]) + ' ' + y(p[2]) + 'H' + x(p[1]));\n"
    "  if (d) add('path', {class: 'c', d}, all);\n"
    "  document.getElementById('facts').textContent = `arena ${bytes(v.arena)}, bound ` +\n"
    "      bytes(data.bound) + (v.proved ? ', smallest possible' : '') +\n"
    "      `, ${data.buffers.length} buffers`;\n"
    "}\n"
    "function show(event) {\n"
    "  const index = event.target.dataset ? event.target.dataset.index : undefined;\n"
    "  if (index === undefined) { tip.style.display = 'none'; return; }\n"
    "  const b = data.buffers[index];\n"
    "  tip.textContent = `${b.name}\\n${b.detail ? b.detail + '\\n' : ''}${b.size} bytes (` +\n"
    "      `${bytes(b.size)}) at ${data.views[view].offsets[index]}\\nsteps ${b.lower} to ${b.upper - 1}`;\n"
    "  tip.style.display = 'block';\n"
    "  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';\n"
    "  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';\n"
    "}\n"
    "function place(event) {\n"
    "  const box = svg.getBoundingClientRect();\n"
    "  return {x: (event.clientX - box.left - space.left) / (box.width - space.left - space.right),\n"
    "          y: 1 - (event.clientY - box.top - space.top) / (box.height - space.top - space.bottom)};\n"
    "}\n"
    "svg.addEventListener('wheel', event => {\n"
    "  event.preventDefault();\n"
    "  const p = place(event), k = event.deltaY < 0 ? 0.8 : 1.25, f = frame;\n"
    "  const t = f.t0 + (f.t1 - f.t0) * p.x, b = f.b0 + (f.b1 - f.b0) * p.y;\n"
    "  frame = {t0: t + (f.t0 - t) * k, t1: t + (f.t1 - t) * k,\n"
    "           b0: b + (f.b0 - b) * k, b1: b + (f.b1 - b) * k};\n"
    "  draw();\n"
    "}, {passive: false});\n"
    "let held = null;\n"
    "svg.addEventListener('pointerdown', e => { held = {p: place(e), f: frame}; });\n"
    "addEventListener('pointerup', () => { held = null; });\n"
    "svg.addEventListener('pointermove', event => {\n"
    "  if (!held) { show(event); return; }\n"
    "  tip.style.display = 'none';\n"
    "  const p = place(event), f = held.f;\n"
    "  const dt = (held.p.x - p.x) * (f.t1 - f.t0), db = (held.p.y - p.y) * (f.b1 - f.b0);\n"
    "  frame = {t0: f.t0 + dt, t1: f.t1 + dt, b0: f.b0 + db, b1: f.b1 + db};\n"
    "  draw();\n"
    "});\n"
    "svg.addEventListener('pointerleave', () => { tip.style.display = 'none'; });\n"
    "menu.addEventListener('change', () => {\n"
    "  view = Number(menu.value);\n"
    "  frame = whole();\n"
    "  draw();\n"
    "});\n"
    "document.getElementById('reset').addEventListener('click', () => { frame = whole(); draw(); });\n"
    "addEventListener('resize', draw);\n"
    "frame = whole();\ndraw();\n</script></body></html>\n";

static void put_buffers(json_writer *json, const arena_picture *p) {
    json_array(json, "buffers");
    for (size_t i = 0; i < p->buffer_count; i++) {
        const arena_buffer *b = &p->buffers[i];
        json_object(json, NULL);
        json_string(json, "name", b->name);
        json_string(json, "detail", b->detail ? b->detail : "");
        json_integer(json, "size", (int64_t)b->size);
        json_integer(json, "lower", b->lower);
        json_integer(json, "upper", b->upper);
        if (b->scratch) json_bool(json, "scratch", true);
        json_end(json);
    }
    json_end(json);
}

static void put_views(json_writer *json, const arena_picture *p) {
    json_array(json, "views");
    for (size_t v = 0; v < p->view_count; v++) {
        json_object(json, NULL);
        json_string(json, "name", p->views[v].name);
        json_integer(json, "arena", (int64_t)p->views[v].arena);
        json_bool(json, "proved", p->views[v].proved);
        json_row(json, "offsets");
        for (size_t i = 0; i < p->buffer_count; i++)
            json_integer(json, NULL, (int64_t)p->views[v].offsets[i]);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static bool put_curve(json_writer *json, const arena_picture *p) {
    arena_curve curve;
    if (!arena_make_curve(p, &curve)) return false;
    json_array(json, "curve");
    for (size_t i = 0; i < curve.count; i++) {
        json_row(json, NULL);
        json_integer(json, NULL, curve.at[i]);
        json_integer(json, NULL, curve.at[i + 1]);
        json_integer(json, NULL, (int64_t)curve.live[i]);
        json_end(json);
    }
    json_end(json);
    arena_free_curve(&curve);
    return true;
}

bool arena_write_html(const arena_picture *picture, FILE *out) {
    json_writer json;
    fputs(head, out);
    json_start(&json, out);
    json_object(&json, NULL);
    json_string(&json, "title", picture->title);
    json_integer(&json, "bound", (int64_t)picture->bound);
    put_buffers(&json, picture);
    put_views(&json, picture);
    bool good = put_curve(&json, picture);
    json_end(&json);
    json_finish(&json);
    fputs(tail, out);
    return good && !ferror(out);
}
