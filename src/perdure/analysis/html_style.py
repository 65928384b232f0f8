"""The one style of a page. It needs nothing from elsewhere: the fonts are those that are there."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--page:#fbfaf7;--ink:#22262b;--soft:#565e67;--rule:#d9d6ce;
--rule-strong:#8d929a;--sheet:#fff;--tint:#f1efe9;--link:#1d5188;--shade:#22262b26;--must:#8a3b12;--must-page:#fbf1e8;
--c0:#1f5f9e;--c1:#b0501a;--c2:#2a7548;--c3:#76499f;--c4:#806500;--c5:#a5305c}
@media (prefers-color-scheme:dark){:root{--page:#15181c;--ink:#e4e6e9;--soft:#a7aeb7;
--rule:#343a42;--rule-strong:#757e89;--sheet:#1b1f24;--tint:#20252b;--link:#8cbcf0;--shade:#0009;--must:#f2b48c;
--must-page:#2c221b;--c0:#7fb4ee;--c1:#f0a272;--c2:#7fcf9f;--c3:#c8a3ee;--c4:#d8bd58;--c5:#f08fb2}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:1.0625rem/1.6 Charter,
"Bitstream Charter","Iowan Old Style","Source Serif 4",Cambria,"DejaVu Serif",Georgia,serif;
overflow-wrap:anywhere}
.sheet{max-width:76rem;margin:0 auto;padding:2.5rem 1rem 4rem}
header,nav,section{min-width:0}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:1.35rem;line-height:1.3;margin:0 0 .75rem}
h3{font-size:1.05rem;line-height:1.4;margin:2.25rem 0 .5rem}
p{margin:0 0 .6rem;max-width:68ch}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--c0);outline-offset:2px}
.about,.note,figcaption,caption,nav,.key,.foot{color:var(--soft)}
.about,nav,table,figcaption,caption,summary,.key,.foot,svg text{font-family:system-ui,-apple-system,
"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
.about{font-size:.875rem;margin-bottom:0}
.note{font-size:.9375rem}
.at{color:var(--soft);font-size:.875rem;overflow-wrap:anywhere}
.must{border-left:.25rem solid var(--must);background:var(--must-page);color:var(--ink);
padding:.5rem .9rem;font-weight:600}
.findings{margin:0;padding:0;list-style:none;max-width:72ch;font-size:1.0625rem}
.findings li{padding:.55rem 0;border-top:1px solid var(--rule)}
.findings li:last-child{border-bottom:1px solid var(--rule)}
section{margin-top:3rem}
nav{margin-top:2.5rem;font-size:.9375rem}
nav h2{font-size:.8125rem;text-transform:uppercase;letter-spacing:.08em;margin:0 0 .4rem}
nav ol{margin:0;padding:0;list-style:none}
nav li{padding:.15rem 0;line-height:1.4}
nav a{text-decoration:none;display:inline-block;padding:.15rem 0}
nav a:hover{text-decoration:underline}
.scroll{position:relative;overflow-x:auto;margin:1rem 0 1.25rem;max-width:100%;
background:linear-gradient(90deg,var(--page) 30%,transparent) 0 0/2.5rem 100% no-repeat local,
linear-gradient(-90deg,var(--page) 30%,transparent) 100% 0/2.5rem 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) 0 0/.75rem 100% no-repeat scroll,
linear-gradient(-90deg,var(--shade),transparent) 100% 0/.75rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.875rem;line-height:1.45;overflow-wrap:normal}
caption{text-align:left;padding:0 0 .4rem;font-size:.8125rem}
th,td{padding:.32rem .9rem .32rem 0;text-align:left;vertical-align:top;font-weight:400}
td{max-width:34rem}
th:last-child,td:last-child{padding-right:.25rem}
thead th{font-weight:600;vertical-align:bottom;border-bottom:1.5px solid var(--rule-strong)}
tbody tr+tr>*{border-top:1px solid var(--rule)}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums lining-nums}
.whole{white-space:nowrap}
.none{color:var(--soft)}
.vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
pre{font:.8125rem/1.5 ui-monospace,"SFMono-Regular",Menlo,Consolas,"DejaVu Sans Mono",monospace;
background:var(--tint);padding:.75rem 1rem;margin:.75rem 0;overflow-x:auto;white-space:pre-wrap}
details{margin:1rem 0}
section>details{margin:0;border-top:1px solid var(--rule);padding-top:.75rem}
summary{cursor:pointer;color:var(--link)}
summary h2{display:inline;font-size:1.1rem;color:var(--ink)}
details[open]>summary{margin-bottom:.9rem}
section:has(>details){margin-top:1rem}
figure{margin:1.25rem 0 1.75rem}
figcaption{font-size:.875rem;margin-bottom:.6rem;max-width:72ch}
figcaption b{color:var(--ink)}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.25rem;list-style:none;margin:0 0 .6rem;padding:0;
font-size:.8125rem}
.key li{display:flex;align-items:center;gap:.5rem;min-width:0}
.key svg,.panels svg{flex:none;max-width:none}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));
gap:1.25rem 2rem}
.panel{min-width:0}
.panel h4,.panel p{font:600 .875rem/1.4 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",
"DejaVu Sans",sans-serif;margin:0 0 .3rem}
.panels svg{display:block;width:100%;max-width:25rem;height:auto}
svg text{font-size:12px;fill:var(--soft)}
svg .value{fill:var(--ink);font-variant-numeric:tabular-nums}
svg .real-label{fill:var(--ink)}
svg path,svg circle,svg rect{fill:none;stroke:none;stroke-width:2}
svg .grid{stroke:var(--rule);stroke-width:1}
svg .zero{stroke:var(--rule-strong);stroke-width:1.25}
svg .real{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:1 4;stroke-linecap:round}
svg .line,svg .whisker,svg .link{stroke:var(--c)}
svg .whisker{stroke-width:1.5}
svg .bar+.whisker,svg .bar~.whisker{stroke:var(--ink)}
svg .link{stroke-width:1.5;opacity:.6}
svg .dot{fill:var(--c);stroke:var(--page);stroke-width:1.25}
svg .hollow{fill:var(--page);stroke:var(--ink);stroke-width:1.75}
svg .bar{fill:var(--c);opacity:.8}
svg .each{fill:var(--ink);opacity:.55}
svg .band{fill:var(--c);opacity:.16}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}
.s5{--c:var(--c5)}
.foot{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--rule);font-size:.8125rem}
@media (min-width:64rem){
.sheet{display:grid;grid-template-columns:minmax(0,1fr) 15rem;column-gap:4rem;padding:4rem 2.5rem}
.sheet>*{grid-column:1}
.sheet>nav{grid-column:2;grid-row:1/span 200;align-self:start;position:sticky;top:2rem;margin:0;
max-height:calc(100vh - 4rem);overflow-y:auto}
h1{font-size:2.35rem}}
@media print{
:root{--page:#fff;--ink:#000;--soft:#444;--rule:#ccc;--rule-strong:#888;--tint:#f4f4f4;--link:#000;
--must:#000;--must-page:#fff;--c0:#1f5f9e;--c1:#b0501a;--c2:#2a7548;--c3:#76499f;--c4:#806500;
--c5:#a5305c;color-scheme:light}
@page{margin:18mm 16mm}
body{font-size:10pt}
.sheet{display:block;padding:0;max-width:none}
nav{display:none}
details::details-content{content-visibility:visible;block-size:auto;display:block}
summary{list-style:none}
summary::-webkit-details-marker{display:none}
.scroll{overflow:visible;background:none}
table{font-size:7.5pt}
th,td{padding:.2rem .6rem .2rem 0}
thead{display:table-header-group}
tr,.panel,figcaption,li{break-inside:avoid}
h1,h2,h3,caption,summary{break-after:avoid}
section{margin-top:1.75rem}
.panels{grid-template-columns:repeat(2,minmax(0,1fr))}}
""".strip()
