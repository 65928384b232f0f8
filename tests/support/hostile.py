"""Texts that a model, a study file or a record may hold, and that nothing may carry out."""

from __future__ import annotations

HOSTILE = (
    "<script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</title></table></main><h1 id=planted>owned</h1>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)></svg>]]><!-- ",
    "javascript:alert(1)",
    "[click](javascript:alert(1)) ![x](http://192.0.2.1/x.png) <http://192.0.2.1/>",
    "see http://192.0.2.1/a and www.example.com",
    "`code` ``` | a | b | **bold** _it_ ~~gone~~ $x$ &lt;b&gt; &#60;",
    "# heading\n- item\n1. one\n> quote\n    code\n***\n===",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200bzero\ufeff",
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \x00 nul \x7f",
    "\ud800 lone",
)
