/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"
#include "tokenizer/html.h"
#include "tokenizer/html_entity_table.h"
#include "tokenizer/html_text.h"

enum { MEGABYTE = 1 << 20 };

/* ---- lexer ----------------------------------------------------------------------------------- */

/* Describes the pieces that the lexer finds: T(text), S(name) with attributes, E(name),
 * C(comment). */
static void describe(const char *html, size_t length, char *out, size_t size)
{
    struct nb_html_lexer lexer = nb_html_lexer_of(html, length);
    struct nb_html_token token;
    size_t used = 0;
    out[0] = '\0';
    while (nb_html_next(&lexer, &token) != NB_HTML_FINISHED && used < size) {
        static const char letters[] = "?TRSEC";
        struct nb_string s =
            token.kind == NB_HTML_START || token.kind == NB_HTML_END ? token.name : token.text;
        used += (size_t)snprintf(out + used, size - used, "%c(%.*s)", letters[token.kind],
                                 (int)s.length, s.bytes);
        struct nb_html_attributes attributes = nb_html_attributes_of(&token);
        struct nb_html_attribute a;
        while (token.kind == NB_HTML_START && used < size && nb_html_attribute(&attributes, &a))
            used += (size_t)snprintf(out + used, size - used, "[%.*s%s%.*s]", (int)a.name.length,
                                     a.name.bytes, a.value.bytes != NULL ? "=" : "",
                                     (int)a.value.length, a.value.bytes);
    }
}

START_TEST(test_lexer)
{
    static const struct {
        const char *html, *pieces;
    } cases[] = {
        {"", ""},
        {"text", "T(text)"},
        {"a<b>c</b>d", "T(a)S(b)T(c)E(b)T(d)"},
        {"<A HREF=\"x y\" id='z' n=1 checked>", "S(A)[HREF=x y][id=z][n=1][checked]"},
        {"<a href = x>", "S(a)[href=x]"},
        {"<a href=>b", "S(a)[href=]T(b)"},
        {"<a ==x>", "S(a)[==x]"},
        {"<br/>", "S(br)"},
        {"<br / x>", "S(br)[x]"},
        {"<a b=\"x\"c>", "S(a)[b=x][c]"},
        {"<a b=\">\">t", "S(a)[b=>]T(t)"},
        {"<a b=x/y>", "S(a)[b=x/y]"},
        {"<a b c d e f g h i=1 j='>' k=>l", "S(a)[b][c][d][e][f][g][h][i=1][j=>][k=]T(l)"},
        {"<a b c d e f g h >", "S(a)[b][c][d][e][f][g][h]"},
        {"<a b c d e f g h i='", ""},
        {"<a-name-of-24-characters an-attribute-of-26-bytes=1>",
         "S(a-name-of-24-characters)[an-attribute-of-26-bytes=1]"},
        {"<p <q>", "S(p)[<q]"},
        {"1 < 2 <3 <", "T(1 )T(< 2 )T(<3 )T(<)"},
        {"</>x</3>", "C(/)T(x)C(/3)"},
        {"</b x=y>", "E(b)"},
        {"<!--a-b--c-->d", "C(a-b--c)T(d)"},
        {"<!-->d", "C()T(d)"},
        {"<!--->d", "C()T(d)"},
        {"<!--x--!>d", "C(x)T(d)"},
        {"<!-- never", "C( never)"},
        {"<!doctype html>d", "C(!doctype html)T(d)"},
        {"<![if x]>d<?php ?>", "C(![if x])T(d)C(?php ?)"},
        {"<script>a<b></scr</script >d", "S(script)R(a<b></scr)E(script)T(d)"},
        {"<SCRIPT></script>d", "S(SCRIPT)R()E(script)T(d)"},
        {"<title>a<b>c", "S(title)R(a<b>c)"},
        {"<style></styles></style>", "S(style)R(</styles>)E(style)"},
        {"a<b never closed", "T(a)"},
        {"a<b c=\"never closed>", "T(a)"},
    };
    char got[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        describe(cases[i].html, strlen(cases[i].html), got, sizeof got);
        ck_assert_msg(strcmp(got, cases[i].pieces) == 0, "case %zu: %s: expected %s, got %s", i,
                      cases[i].html, cases[i].pieces, got);
    }
}
END_TEST

/* ---- character references -------------------------------------------------------------------- */

START_TEST(test_entities)
{
    static const struct {
        const char *text, *utf8;
    } cases[] = {
        {"&amp;", "&"},
        {"&amp", "&"},
        {"&ampx", "&x"},
        {"&eacute;&Eacute;", "éÉ"},
        {"&copy2026", "©2026"},
        {"&notit;", "¬it;"},
        {"&notin;", "∉"},
        {"&alpha;", "α"},
        {"&alpha", "&alpha"}, /* only older names go without the ';' */
        {"&CounterClockwiseContourIntegral;", "∳"},
        {"&NotEqualTilde;", "≂̸"}, /* two characters */
        {"&nosuchname;", "&nosuchname;"},
        {"&#65;&#x41;&#X41&#65", "AAAA"},
        {"&#8364;&#x1F600;", "€😀"},
        {"&#128;&#150;", "€–"}, /* windows-1252 */
        {"&#0;&#xD800;&#x110000;&#99999999999999999999;",
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"&#;&#x;&#xg;", "&#;&#x;&#xg;"},
        {"&", "&"},
        {"& &&", "& &&"},
        {"a&", "a&"},
        {"&#", "&#"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_html_decode(&out, cases[i].text, strlen(cases[i].text)), 0);
        ck_assert_msg(out.length == strlen(cases[i].utf8) &&
                          memcmp(out.bytes, cases[i].utf8, out.length) == 0,
                      "case %zu: %s: expected %s, got %.*s", i, cases[i].text, cases[i].utf8,
                      (int)out.length, out.bytes);
        nb_buffer_deinit(&out);
    }
}
END_TEST

/* Every name of the table is found, which also says that the texts are sorted. */
START_TEST(test_entity_table)
{
    size_t names = 0, without_end = 0;
    for (int letter = 'A'; letter <= 'z'; letter++) {
        struct nb_string rest = nb_html_entity_names[letter - 'A'];
        while (rest.length > 0) {
            char text[NB_HTML_ENTITY_NAME + 3], utf8[NB_HTML_ENTITY_BYTES];
            size_t written = 0, size = strcspn(rest.bytes, "*#");
            int length = snprintf(text, sizeof text, "&%c%.*s;", letter, (int)size, rest.bytes);
            ck_assert_uint_eq(nb_html_entity(text, (size_t)length, utf8, &written), (size_t)length);
            ck_assert_uint_le(written, NB_HTML_ENTITY_BYTES);
            if (rest.bytes[size] == '*') {
                ck_assert_uint_eq(nb_html_entity(text, (size_t)length - 1, utf8, &written),
                                  (size_t)length - 1);
                without_end++;
            }
            names++;
            rest = nb_string_from(rest, strcspn(rest.bytes, " ") + 1);
        }
    }
    ck_assert_uint_eq(names, 2125);
    ck_assert_uint_eq(without_end, 106);
}
END_TEST

/* ---- visible and hidden text ----------------------------------------------------------------- */

static const struct {
    const char *html, *visible, *hidden;
} texts[] = {
    {"V<!-- x -->ia<b>g</b><unknown>ra", "Viagra", ""},
    {"a<p>b<br>c</p>d", "a|b|c|d", ""},
    {"<td>a</td><td>b</td>", "|a|b|", ""},
    {"a<script>no</script>b<style>no</style>c", "a|b|c", ""},
    {"<title>a &amp; b</title>c", "|a & b|c", ""},
    {"a<img alt='b &eacute;' title=c>d", "a|b é|c|d", ""},
    {"a\xE9<i>\xFF</i>", "a\xE9\xFF", ""}, /* not UTF-8: passes as it is */
    {"<span style='display:none'>a</span>b", "b", "a"},
    {"<span style='DISPLAY : None !important'>a</span>b", "b", "a"},
    {"<span style='display:block'>a</span>b", "ab", ""},
    {"<div style='display:none'>a<div>b</div>c</div>d", "||d", "a|b|c|"},
    {"<p style='display:none'>a<p>b", "||b", "a|"},
    {"<p hidden>a</p>b", "|b", "a|"},
    {"<i style=visibility:hidden>a<b style=visibility:visible>b</b>c</i>d", "bd", "a|c"},
    {"<i style=display:none>a<b style=display:inline>b</b></i>d", "d", "ab"},
    {"<i style=font-size:0>a<b style=font-size:9px>b</b></i>", "b", "a"},
    {"<i style=font-size:0px>a<b style='font-size:200%'>b</b></i>", "", "ab"},
    {"<i style=font-size:1px>a</i><i style=font-size:0.5em>b</i>", "b", "a"},
    {"<i style=font-size:1.5em>a</i><i style=font-size:medium>b</i>", "ab", ""},
    {"<i style=opacity:0>a</i><i style=opacity:0.5>b</i>", "b", "a"},
    {"<font color=white>a</font><font color=#fefefe>b</font>", "", "a|b"},
    {"<font color=#FFF>a</font><font color='rgb(255, 255, 255)'>b</font>", "", "a|b"},
    {"<font color=silver>a</font><font color=nonsense>b</font>", "ab", ""},
    {"<body bgcolor=black text=white>a<font color=black>b</font>", "|a", "b"},
    {"<td background=x.gif><font color=white>a</font></td>", "|a|", ""},
    {"<i style='background:url(x) #fff;color:#fff'>a</i>", "a", ""},
    {"<i style='background:#000 none;color:#fff'>a</i>", "a", ""},
    {"<i style='color:transparent'>a</i>", "", "a"},
    {"<i style='color:rgba(0,0,0,0);background:rgba(0,0,0,0)'>a</i>", "", "a"},
    {"<i style='color:rgba(0,0,0,.5);background:rgba(9,9,9,0)'>a</i>", "a", ""},
    {"<i style='color:#fff0'>a</i><i style='color:#00000000'>b</i>", "", "a|b"},
    {"<i style='color:rgb(255 255 255 / 1)'>a</i><i style='color:rgb(100%,100%,100%)'>b</i>", "",
     "a|b"},
    {"<i style='color:hsla(0,0%,0%,0)'>a</i><i style='color:hsl(0,0%,0%)'>b</i>", "b", "a"},
    /* sizes */
    {"<div style='max-height:0'>a</div><div style='max-height:0px;overflow:hidden'>b</div>c", "c",
     "a|b"},
    {"<div style='max-height:none'>a</div><div style='max-height:20em'>b</div>", "a|b", ""},
    {"<div style='height:0;overflow:hidden'>a</div><div style='height:0'>b</div>", "b", "a"},
    {"<p style='width:1px;height:1px;overflow:hidden'>a</p><td style='width:1px'>b", "b", "a"},
    {"<td style='max-width:0;overflow:hidden'>a", "a", ""}, /* cut with an ellipsis */
    {"<i style=font-size:.1em>a</i><i style=font-size:10%>b</i><i style=font-size:.1rem>c</i>", "",
     "a|b|c"},
    {"<i style=font-size:1.5pt>a</i><i style=font-size:.2ex>b</i><i style=font-size:2px>c</i>", "",
     "a|b|c"},
    {"<i style=font-size:8px>a</i><i style=font-size:.5rem>b</i><i style=font-size:60%>c</i>",
     "abc", ""},
    {"<i style=font-size:1e-3em>a</i><i style=font-size:-1px>b</i><i style=font-size:0.2mm>c</i>",
     "b", "a|c"},
    {"<i style=font-size:30%>a<b style=font-size:30%>b<u style=font-size:12px>c</u></b></i>", "ac",
     "b"},
    {"<i style=font-size:0>a<b style=font-size:medium>b</b><u style=font-size:larger>c</u></i>",
     "b", "a|c"},
    {"<i style='font:0/0 a'>a</i><i style='font:bold 1px/2 x'>b</i><i style='font:700 9pt x'>c</i>",
     "c", "a|b"},
    /* what is next to nothing */
    {"<i style=opacity:.01>a</i><i style=opacity:.09>b</i><i style=opacity:5%>c</i>", "", "a|b|c"},
    {"<i style=opacity:.1>a</i><i style=opacity:40%>b</i><i style=opacity:0.8>c</i>", "abc", ""},
    {"<i style=opacity:1e-9>a</i><i style=opacity:-1>b</i><i style=opacity:1e9>c</i>", "c", "a|b"},
    {"<i style=transform:scale(0)>a</i><i style='transform:rotate(5deg) scaleY( 0 )'>b</i>", "",
     "a|b"},
    {"<i style='transform:scale(1,.5)'>a</i><i style=transform:rotate(0)>b</i>", "ab", ""},
    {"<i style=zoom:0>a</i><i style='scale:0 1'>b</i><i style=zoom:1>c</i>", "c", "a|b"},
    {"<i style='content-visibility:hidden'>a</i><i style=visibility:collapse>b</i>", "", "a|b"},
    {"<i style=visibility:inherit>a</i><i style=display:inherit>b</i>", "ab", ""},
    {"<i style='filter:blur(0) opacity(0)'>a</i><i "
     "style='-webkit-text-fill-color:transparent'>b</i>"
     "<i style='filter:opacity(50%)'>c</i>",
     "c", "a|b"},
    /* outside of the page */
    {"<p style='position:absolute;left:-9999px'>a<p style='position:fixed;top:-100em'>b", "",
     "a|b"},
    {"<p style='position:absolute;left:-50%'>a<p style='left:-9999px'>b", "a|b", ""},
    {"<p style='position:absolute;right:-200vw'>a<p style='position:absolute;inset:0 0 0 -999em'>b",
     "", "a|b"},
    {"<p style='position:absolute;left:-20px;top:0'>a<p style='position:static;left:-999em'>b",
     "a|b", ""},
    {"<p style='text-indent:-999em'>a<p style='text-indent:-18.0pt'>b", "b", "a"},
    {"<p style='margin-left:-9999px'>a<p style='margin:0 0 0 -9999px'>b<p style=margin:-9999px>c",
     "", "a|b|c"},
    {"<p style='left:50%;margin-left:-600px;position:absolute'>a<p style='margin:0 auto'>b", "a|b",
     ""},
    {"<p style='transform:translateX(-9999px)'>a<p style='transform:translate(-50%,-50%)'>b", "b",
     "a"},
    {"<p style='left:calc( -9999px + 1px);position:absolute'>a", "", "a"},
    /* cut away */
    {"<p style='position:absolute;clip:rect(0,0,0,0)'>a<p style='clip: rect( 1px 1px 1px 1px )'>b",
     "", "a|b"},
    {"<p style='clip:rect(0,100px,100px,0)'>a<p style='clip:rect(auto,auto,auto,auto)'>b", "a|b",
     ""},
    {"<p style='clip-path:inset(100%)'>a<p style='clip-path: circle(0)'>b", "", "a|b"},
    {"<p style='clip-path:inset(5% 0)'>a<p style='clip-path:circle(50%)'>b", "a|b", ""},
    {"<p style='clip-path:polygon(0 0,0 0,0 0)'>a<p style='clip-path:none'>b", "b", "a"},
    /* style sheets */
    {"<style>.x{display:none}</style><p class=x>a</p><p class='y x'>b</p><p class=y>c</p>", "c",
     "a|b"},
    {"<style>#x { opacity : 0 } i{font-size:1px}</style><p id=x>a</p><i>b</i><p id=y>c</p>", "c",
     "a|b"},
    {"<style>p.x,td.y , .a.b{visibility:hidden}</style><p class=x>a</p><b class=x>b</b>"
     "<p class='b c a'>c</p><p class=a>d</p>",
     "b|d", "a|c"},
    {"<style type='text/css'><!-- /* } */ .X{ /* ; */ DISPLAY:None !important } --></style>"
     "<b class=x>a</b>b",
     "b", "a"},
    {"<style>.x{position:absolute}.y{left:-9999px}</style><b class='x y'>a</b><b class=y>b</b>",
     "b", "a"},
    {"<style>.x{display:none}.x{display:block}</style><b class=x>a</b>", "a", ""},
    {"<style>b{display:none}.y{display:inline}#z{display:none}</style><b>a</b><b class=y>b</b>"
     "<b class=y id=z>c</b>",
     "b", "a|c"},
    {"<style>.x{display:none}</style><b class=x style=display:inline>a</b>", "a", ""},
    {"<style>.x{display:none!important}</style><b class=x style=display:inline>a</b>", "", "a"},
    {"<style>[class=x],td[class=\"y\"]{display:none}</style><b class=x>a</b><td class=y>b", "",
     "a|b"},
    {"<style>body .x,html > body p{display:none}</style><b class=x>a</b><p>b</p>c", "c", "a|b"},
    {"<style>div .x,.a>b,i+b{display:none}</style><b class=x>a</b>", "a", ""},
    {"<style>a:hover,b:before{display:none}</style><a>a</a><b>b</b>", "ab", ""},
    {"<style>*{display:none}</style><body>a</body>", "", "a"},
    {"<style>.x{content:'}';display:none}.y{display:none}</style><b class=x>a</b><b class=y>b</b>",
     "", "a|b"},
    {"<style>.x{display:none", "", ""},
    {"<style>}}.x{display:none}</style><b class=x>a</b>", "", "a"},
    {"<p class=x>a</p><style>.x{display:none}</style>b", "b", "a"},
    {"<body class=x>a<style>.x{display:none}</style></body>", "", "a"},
    {"<title>t</title><style>.y{color:red}</style><p class=x>a<style>.x{display:none}</style>b",
     "t", "a|b"},
    {"<!--[if mso]><style>.x{display:none}</style><![endif]--><b class=x>a</b>", "a", ""},
    {"<!--[if !mso]><!--><style>.x{display:none}</style><!--<![endif]--><b class=x>a</b>", "", "a"},
    /* colours of style sheets */
    {"<style>.x{color:#fff}.y{color:#fff;background:#036}</style><b class=x>a</b><b class=y>b</b>",
     "b", "a"},
    {"<style>.d{background:#036}.x{color:#fff}</style><td class=d><b class=x>a</b></td>", "a", ""},
    {"<style>table.d td{background:#036}.x{color:#fff}</style><td><b class=x>a</b></td>", "a", ""},
    {"<style>body{background:#fff}html td{background-color:#fefefe}</style><td><font color=#fff>a",
     "", "a"},
    {"<style>a:link{color:#fff}</style><a>a</a>", "a", ""},
    /* media */
    {"<style>@media print{.x{display:none}}</style><b class=x>a</b>", "a", ""},
    {"<style media=print>.x{display:none}</style><b class=x>a</b>", "a", ""},
    {"<style media='only screen'>.x{display:none}</style><b class=x>a</b>", "", "a"},
    {"<style>@media screen{.x{display:none}}@media all and (min-width:0){.y{display:none}}</style>"
     "<b class=x>a</b><b class=y>b</b>",
     "", "a|b"},
    {"<style>@media only screen and (max-width:600px){.desktop{display:none!important}}</style>"
     "<b class=desktop>a</b>",
     "a", ""},
    {"<style>.mobile{display:none;max-height:0}@media (max-width:600px){.mobile{display:block "
     "!important;max-height:none!important}}</style><b class=mobile>a</b>",
     "a", ""},
    {"<style>.hide-desktop{display:none;mso-hide:all}@media (max-width:480px){.hide-desktop"
     "{display:table!important}}@media print{.x{display:block}}.x{display:none}</style>"
     "<b class=hide-desktop>a</b><b class=x>b</b>",
     "a", "b"},
    {"<style>.x{display:none}@media (max-width:1px){.x{display:block}}</style><b class=x>a</b>", "",
     "a"},
    {"<style>.x{font-size:1px}@media (max-width:600px){.x{font-size:14px}}</style><b class=x>a</b>",
     "a", ""},
    {"<style>@media (prefers-color-scheme:dark){.x{display:none}}</style><b class=x>a</b>", "a",
     ""},
    {"<style>@import 'x';@font-face{font-family:x}@keyframes k{from{opacity:0}to{opacity:1}}"
     "@supports (display:grid){@media screen{.x{display:none}}}.y{opacity:0}</style>"
     "<b class=x>a</b><b class=y>b</b><from>c",
     "c", "a|b"},
    {"<style>.preheader{display:none!important;visibility:hidden;opacity:0;color:transparent;"
     "height:0;width:0}</style><span class=preheader>a</span><p>b</p>",
     "b", "a"},
    {"<style>.sr-only{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}"
     "</style><b class=sr-only>a</b>b",
     "b", "a"},
    /* from right to left */
    {"a <bdo dir=rtl>b c</bdo> d", "a \u202Eb c\u202C d", ""},
    {"<bdo dir=rtl>a<br>b<p>c</bdo>d", "\u202Ea|\u202Eb|\u202Ec\u202Cd", ""},
    {"<div style='direction:rtl;unicode-bidi:bidi-override'>a</div>b", "\u202Ea|\u202E\u202C|b",
     ""},
    {"<div dir=rtl>a</div><i style='direction:rtl'>b</i><bdo dir=ltr>c</bdo>", "a|bc", ""},
    {"<bdo dir=rtl>a<i hidden>b</i>c", "\u202Eac", "b"},
    /* how it is written */
    {"<i style='display/**/:/* x */none'>a</i><i style='/* */opacity:0 /**/'>b</i>", "", "a|b"},
    {"<i style='display&#58;none'>a</i><i style='display&colon;none'>b</i>", "", "a|b"},
    {"<i style='mso-hide:all'>a</i><i style='-x-display:none;displays:none'>b</i>", "ab", ""},
    {"<i style='background:#fff;background-image:none;color:#fff'>a</i>", "", "a"},
    {"<i style='color:inherit'>a</i><font color=white><i style=color:inherit>b</i></font>", "a",
     "b"},
    {"a</p></i></unknown>b", "a|b", ""},
    {"V<i hidden>x</i>iagra", "Viagra", "x"},
    {"<I HIDDEN>a</i>b", "b", "a"},
    /* Of each property the last declaration counts, and of two attributes the first. */
    {"<i style='display:none;display:block'>a</i>", "a", ""},
    {"<i style='display:block;display:none'>a</i>", "", "a"},
    {"<i style='opacity:0;opacity:1;color:transparent;color:red'>a</i>", "a", ""},
    {"<i style='opacity:0;display:block'>a</i>", "", "a"},
    {"<i style='display:none' style='display:block'>a</i>b", "b", "a"},
    /* What is in a table or a list ends nothing that is around it. */
    {"<td hidden>a<table><tr><td>b</td></tr></table>c</td>d", "d", "a|b|c"},
    {"<td hidden>a<table><tr><td>b<tr><td>c</table>d</td>e", "e", "a|b|c|d"},
    {"<td hidden>a<td>b", "b", "a"},
    {"<table style='color:#fff'><tr><td "
     "bgcolor=#036><table><tr><td>a</td></tr></table></td></tr></table>",
     "a", ""},
    {"<div hidden><table><td>a</div>b</td></table>c</div>d", "d", "a|b|c"},
    {"<b hidden><table><td><i style=color:red>a</table>b</b>c", "c", "a|b"},
    {"<b hidden><table><table><td style=color:#000>a</table>b</table>c</b>d", "d", "a|b|c"},
    {"<ul><li hidden>a<ul><li>b</ul>c<li>d</ul>", "d", "a|b|c"},
    {"<ul><li hidden>a<ol><li>b</li><li>c</ol>d</li>e</ul>", "e", "a|b|c|d"},
    {"<div hidden><ul><li>a</div>b", "b", "a"},
    {"<dl><dd hidden>a<dl><dd>b</dl>c<dd>d", "d", "a|b|c"},
    {"<b hidden><ul><ul><li style=color:red>a</ul>b</ul>c</b>d", "d", "a|b|c"},
};

static void assert_text(size_t i, const char *what, const struct nb_buffer *got,
                        const char *expected)
{
    char text[256];
    size_t length = got->length < sizeof text - 1 ? got->length : sizeof text - 1;
    for (size_t n = 0; n < length; n++)
        text[n] = got->bytes[n] == '\n' ? '|' : got->bytes[n];
    text[length] = '\0';
    const char *from = text + strspn(text, "|"); /* how the text begins and ends does not matter */
    expected += strspn(expected, "|");
    while (length > 0 && text[length - 1] == '|')
        text[--length] = '\0';
    size_t wanted = strlen(expected);
    while (wanted > 0 && expected[wanted - 1] == '|')
        wanted--;
    ck_assert_msg(strlen(from) == wanted && memcmp(from, expected, wanted) == 0,
                  "case %zu: %s: expected %s, got %s", i, what, expected, from);
}

START_TEST(test_text)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nb_html_text out = {0};
        ck_assert_int_eq(nb_html_to_text(texts[i].html, strlen(texts[i].html), NULL, &out), 0);
        assert_text(i, "visible", &out.visible, texts[i].visible);
        assert_text(i, "hidden", &out.hidden, texts[i].hidden);
        nb_html_text_deinit(&out);
    }
}
END_TEST

/* Checks for each element, alone between two letters, whether it separates them. */
static void assert_separation(const char *const *names, bool separates)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        char html[64];
        struct nb_html_text out = {0};
        size_t length = (size_t)snprintf(html, sizeof html, "a</%s>b", names[i]);
        ck_assert_int_eq(nb_html_to_text(html, length, NULL, &out), 0);
        ck_assert_msg((memchr(out.visible.bytes, '\n', out.visible.length) != NULL) == separates,
                      "%s", names[i]);
        nb_html_text_deinit(&out);
    }
}

START_TEST(test_separation)
{
    static const char *const blocks[] = {
        "address",  "article",    "aside",    "audio",   "blockquote", "body",     "br",
        "button",   "canvas",     "caption",  "center",  "col",        "colgroup", "dd",
        "details",  "dialog",     "dir",      "div",     "dl",         "dt",       "embed",
        "fieldset", "figcaption", "figure",   "footer",  "form",       "frame",    "frameset",
        "h1",       "h2",         "h3",       "h4",      "h5",         "h6",       "head",
        "header",   "hr",         "html",     "iframe",  "img",        "input",    "isindex",
        "label",    "legend",     "li",       "link",    "listing",    "main",     "map",
        "marquee",  "menu",       "meta",     "nav",     "noframes",   "noscript", "object",
        "ol",       "optgroup",   "option",   "p",       "plaintext",  "pre",      "script",
        "section",  "select",     "style",    "summary", "svg",        "table",    "tbody",
        "td",       "template",   "textarea", "tfoot",   "th",         "thead",    "title",
        "tr",       "ul",         "video",    "xmp",     "BLOCKQUOTE", NULL};
    static const char *const inlines[] = {
        "a",      "abbr",      "addres", "addresses",   "ar",   "b", "blockquot", "blockquotes",
        "bs",     "col-group", "em",     "figcaptions", "font", "h", "h7",        "span",
        "tables", "u",         "x",      "xmps",        "z",    NULL};
    assert_separation(blocks, true);
    assert_separation(inlines, false);
}
END_TEST

/* `count` times one unit and then what follows, in the caller's `html`; '#' in the unit becomes the
 * number of the copy. Returns the length. */
static size_t behind_many(char *html, size_t size, const char *unit, size_t count, const char *rest)
{
    size_t length = 0;
    size_t plain = strcspn(unit, "#");
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(html + length, size - length, "%.*s", (int)plain, unit);
        if (unit[plain] != '\0')
            length += (size_t)snprintf(html + length, size - length, "%zu%s", i, unit + plain + 1);
    }
    return length + (size_t)snprintf(html + length, size - length, "%s", rest);
}

/* Styles hold in whatever depth: of elements with one name, with a hundred and with more names than
 * have a place of their own. */
START_TEST(test_text_in_deep_elements)
{
    static const struct {
        const char *unit;
        size_t count;
        const char *html, *visible, *hidden;
    } cases[] = {
        {"<b style=color:red>", 31, "<i hidden>a</i>b", "b", "a"},
        {"<b style=color:red>", 32, "<i hidden>a</i>b", "b", "a"},
        {"<b style=color:red>", 33, "<i hidden>a</i>b", "b", "a"},
        {"<b style=color:red>", 5000, "<i hidden>a<u>b</i>c", "c", "ab"},
        {"<x# style=color:red>", 400, "<i hidden>a</i>b", "b", "a"},
        {"<x# style=color:red>", 5000, "<b hidden>a", "", "a"},
        {"<b style=color:red>", 5000, "<i bgcolor=black>a<u style=color:white>b</u></i>", "ab", ""},
        {"<i hidden>", 1, "<b style=color:red>a</b>b</i>c", "c", "ab"},
        /* An end tag closes all that is inside its element. */
        {"<div hidden>", 1, "<b style=color:red><b style=color:red>a</div>b", "b", "a"},
        {"<a hidden>", 100, "</a></a>a", "", "a"},
    };
    enum { SIZE = 1 << 18 };
    char *html = malloc(SIZE);
    ck_assert_ptr_nonnull(html);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_html_text out = {0};
        size_t length = behind_many(html, SIZE, cases[i].unit, cases[i].count, cases[i].html);
        ck_assert_int_eq(nb_html_to_text(html, length, NULL, &out), 0);
        assert_text(i, "visible", &out.visible, cases[i].visible);
        assert_text(i, "hidden", &out.hidden, cases[i].hidden);
        nb_html_text_deinit(&out);
    }
    free(html);
}
END_TEST

/* Behind as many end tags as there were elements the first style holds again. */
START_TEST(test_style_behind_deep_elements)
{
    enum { SIZE = 1 << 18, DEPTH = 3000 };
    static char html[SIZE];
    struct nb_html_text out = {0};
    size_t length = behind_many(html, SIZE, "<b# hidden>", 400, "");
    length += behind_many(html + length, SIZE - length, "<i style=color:red>", DEPTH, "a");
    length += behind_many(html + length, SIZE - length, "</i>", DEPTH, "b");
    for (unsigned i = 400; i > 0; i--)
        length += (size_t)snprintf(html + length, SIZE - length, "</b%u>", i - 1);
    length += (size_t)snprintf(html + length, SIZE - length, "c");
    ck_assert_int_eq(nb_html_to_text(html, length, NULL, &out), 0);
    assert_text(0, "hidden", &out.hidden, "ab");
    assert_text(0, "visible", &out.visible, "c");
    nb_html_text_deinit(&out);
}
END_TEST

START_TEST(test_nul_is_left_out)
{
    struct nb_html_text out = {0};
    ck_assert_int_eq(nb_html_to_text("V\0ia\0", 5, NULL, &out), 0);
    assert_text(0, "visible", &out.visible, "Via");
    nb_html_text_deinit(&out);
}
END_TEST

static int stop_at_p(void *user, const struct nb_html_token *start_tag)
{
    ++*(int *)user;
    return nb_string_equals_nocase(start_tag->name, "p") ? -99 : 0;
}

START_TEST(test_observer)
{
    static const char html[] = "<b>a</b><i>b</i><p>c<b>d</b>";
    int seen = 0;
    const struct nb_html_observer observer = {.element = stop_at_p, .user = &seen};
    struct nb_html_text out = {0};
    ck_assert_int_eq(nb_html_to_text(html, strlen(html), &observer, &out), -99);
    ck_assert_int_eq(seen, 3);
    nb_html_text_deinit(&out);
}
END_TEST

START_TEST(test_sniff)
{
    static const struct {
        const char *text;
        bool html;
    } cases[] = {{"<html>", true},
                 {"\n\n <HTML lang=en><head>", true},
                 {"<!DOCTYPE html><p>", true},
                 {"<!doctype HTML PUBLIC \"-//W3C\">", true},
                 {"<body bgcolor=white>", true},
                 {"plain <b>text</b>", false},
                 {"<htmlx>", false},
                 {"a < html", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(nb_html_sniff(cases[i].text, strlen(cases[i].text)) == cases[i].html,
                      "case %zu: %s", i, cases[i].text);
}
END_TEST

/* ---- any bytes ------------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13; /* xorshift, Marsaglia 2003 */
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Of any pieces the lexer's are parts of the input, in order; the text is not longer than it. */
START_TEST(test_random_html)
{
    static const char *const pieces[] = {
        "<",           ">",         "</",  "<!--",    "-->",      "\"",
        "'",           "=",         "a",   "&",       "&amp",     ";",
        "<script>",    "</script>", "<b ", "/",       " ",        "style=\"display:none\"",
        "<p hidden>",  "</p>",      "&#x", "41",      "<title>",  "<td bgcolor=#fff>",
        "!",           "\xff",      "é",   "<style>", "</style>", ".a{opacity:0}",
        "<b class=a>", "@media ",   "{"};
    const char *given = getenv("NB_SEED");
    char html[512];
    size_t wrong = 0;
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2 + 1;
    printf("random HTML: NB_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 20000; i++) {
        size_t length = 0;
        for (uint64_t n = next_random() % 20; n > 0; n--) {
            const char *piece = pieces[next_random() % (sizeof pieces / sizeof *pieces)];
            memcpy(html + length, piece, strlen(piece));
            length += strlen(piece);
        }
        struct nb_html_lexer lexer = nb_html_lexer_of(html, length);
        struct nb_html_token token;
        const char *before = html;
        while (nb_html_next(&lexer, &token) != NB_HTML_FINISHED) {
            bool inside =
                token.text.bytes == NULL ||
                (token.text.bytes >= html && token.text.bytes + token.text.length <= html + length);
            wrong +=
                lexer.at < before || !inside || (lexer.at == before && token.kind != NB_HTML_RAW);
            before = lexer.at;
        }
        wrong += lexer.at != html + length;
        struct nb_html_text out = {0};
        wrong += nb_html_to_text(html, length, NULL, &out) != 0;
        wrong += out.visible.length + out.hidden.length > length + 2;
        nb_html_text_deinit(&out);
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

static double seconds_for(const char *html, size_t length)
{
    struct nb_html_text out = {0};
    uint64_t begin = cpu_time();
    ck_assert_int_eq(nb_html_to_text(html, length, NULL, &out), 0);
    nb_html_text_deinit(&out);
    return (double)(cpu_time() - begin) / 1e9;
}

/* See test_mail: only time that grows with the square of the size exceeds the bound. */
START_TEST(test_linear_time)
{
    static const char *const units[] = {"<",
                                        "<a ",
                                        "&amp",
                                        "&a",
                                        "<div>",
                                        "<!--",
                                        "<!-- - --",
                                        "<a x=\"",
                                        "<x></y>",
                                        "<script>",
                                        "<script></scrip",
                                        "<!",
                                        "</",
                                        "<b hidden>",
                                        "<p style=color:red>",
                                        "<b hidden></i>",
                                        "<title></title>",
                                        "&#x1",
                                        "\0",
                                        "<img alt=x>"};
    char *html = malloc(MEGABYTE + 32);
    ck_assert_ptr_nonnull(html);
    for (size_t i = 0; i <= sizeof units / sizeof *units; i++) {
        size_t length = 0;
        while (length < MEGABYTE && i < sizeof units / sizeof *units) {
            size_t n = *units[i] != '\0' ? strlen(units[i]) : 1;
            memcpy(html + length, units[i], n);
            length += n;
        }
        while (length < MEGABYTE) /* last: one tag of very many attributes */
            length +=
                (size_t)snprintf(html + length, 32, "%s%zu=1 ", length == 0 ? "<a x" : "x", length);
        double small = seconds_for(html, length / 16);
        double large = seconds_for(html, length);
        ck_assert_msg(large < 64 * small + 0.05, "case %zu: %.4f s, then %.4f s", i, small, large);
    }
    free(html);
}
END_TEST

/* Appends `unit` repeatedly, for at least `bytes` bytes; '?' becomes a number that differs each
 * time. */
static void repeat(struct nb_buffer *out, const char *unit, size_t bytes)
{
    size_t end = out->length + bytes;
    for (size_t i = 0; *unit != '\0' && out->length < end; i++) {
        for (const char *at = unit; *at != '\0'; at++) {
            if (*at == '?')
                nb_buffer_printf(out, "%zu", i);
            else
                nb_buffer_append(out, at, 1);
        }
    }
}

/* Sheets, and elements behind them, of a megabyte together; elements of 100,000 classes. */
START_TEST(test_linear_time_of_sheets)
{
    static const struct {
        const char *sheet, *behind_it, *unit, *end;
    } cases[] = {
        {".x?{display:none}", "</style>", "<b class=x?>a", ""},
        {".x?{display:none}", "</style><b class='", "x? ", "'>a"},
        {".x?.y?{display:none}", "</style><b class='", "x? y? ", "'>a"},
        {".x{display:none}", "</style>", "<b class='x x x'></b>", ""},
        {"b.x?{color:red}i#x?{color:blue}", "</style>", "<b class=x?><i id=x?>", ""},
        {"b{color:red}i{color:blue}", "</style>", "<b><i>", ""},
        {".x?,", "{display:none}</style>", "<b class=x?>a", ""},
        {"a ", "{color:red}</style>", "<a>", ""},
        {"body ", ".x{display:none}</style>", "<b class=x>", ""},
        {"[class=x]", "{color:red}</style>", "<b class=x>", ""},
        {":", "{color:red}</style>", "<b>", ""},
        {".x{", "display:none}</style>", "<b class=x>", ""},
        {".x{display:none;", "</style>", "<b class=x>", ""},
        {"}", "</style>", "", ""},
        {"'", "</style>", "", ""},
        {"'\n{", "</style>", "", ""},
        {"/*", "</style>", "", ""},
        {"/* */", "</style>", "", ""},
        {"@media(", "</style>", "", ""},
        {"@media screen{", "</style>", "", ""},
        {"@x{", "</style>", "", ""},
        {"@media (min-width:1px),", "{b{color:red}}</style>", "<b>", ""},
        {"<!--", "</style>", "", ""},
        {"", "</style>", "<style>.x?{display:none}</style><b class=x?>", ""},
        {"", "</style><b style='", "/*", "'>"},
        {"", "</style><b style='", "display:/*;*/none;", "'>"},
        {"", "</style><b style='transform:", "scale(1", "'>"},
        {"", "</style><b style='transform:", "scale(1)", "'>"},
        {"", "</style><b style='font:", "x ", "'>"},
        {"", "</style><b style='background:", "x ", "'>"},
        {"", "</style><b style='clip-path:circle(", "1 ", "'>"},
        {"", "</style><b style='color:", "rgb(", "'>"},
        {"", "</style>", "<bdo dir=rtl><p>", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds[2];
        for (int large = 0; large < 2; large++) {
            struct nb_buffer html = {0};
            size_t bytes = large ? MEGABYTE / 2 : MEGABYTE / 32;
            nb_buffer_puts(&html, "<style>");
            repeat(&html, cases[i].sheet, bytes);
            nb_buffer_puts(&html, cases[i].behind_it);
            repeat(&html, cases[i].unit, bytes);
            nb_buffer_puts(&html, cases[i].end);
            seconds[large] = seconds_for(html.bytes, html.length);
            nb_buffer_deinit(&html);
        }
        ck_assert_msg(seconds[1] < 64 * seconds[0] + 0.05, "case %zu: %.4f s, then %.4f s", i,
                      seconds[0], seconds[1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("html");
    TCase *tcase = tcase_create("html");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_lexer);
    tcase_add_test(tcase, test_entities);
    tcase_add_test(tcase, test_entity_table);
    tcase_add_test(tcase, test_text);
    tcase_add_test(tcase, test_separation);
    tcase_add_test(tcase, test_text_in_deep_elements);
    tcase_add_test(tcase, test_style_behind_deep_elements);
    tcase_add_test(tcase, test_nul_is_left_out);
    tcase_add_test(tcase, test_observer);
    tcase_add_test(tcase, test_sniff);
    tcase_add_test(tcase, test_random_html);
    tcase_add_test(tcase, test_linear_time);
    tcase_add_test(tcase, test_linear_time_of_sheets);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
