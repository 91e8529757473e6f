/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset/charset_label.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"

const char NB_CHARSET_UTF_8[] = "UTF-8";
const char NB_CHARSET_WINDOWS_1252[] = "CP1252";
const char NB_CHARSET_UTF_7[] = "UTF-7";
const char NB_CHARSET_HZ[] = "HZ";
const char NB_CHARSET_NONE[] = "";

/* The labels of each charset as keys: only their letters, in lower case, and digits. The most
 * frequent charsets come first. Name NULL: no text arrives in this charset. */
static const struct charset {
    const char *charset;
    const char *keys; /* with a blank before and after each key */
} charsets[] = {
    {NB_CHARSET_UTF_8,
     " utf8 65001 al32utf8 cesu8 cp65001 csutf8 iso10646utf8 u8 unicode11utf8 unicode20utf8 "
     "unicodeutf8 utf utf8bom utf8mac utf8mb3 utf8mb4 utf8sig utf8strict windows65001 "
     "xunicode20utf8 "},
    {NB_CHARSET_NONE,
     " usascii 646 7bit 8bit ansi ansix34 ansix341968 ansix341986 any asci ascii ascii7 auto "
     "autodetect autodetectall autoselect base64 binary charset charsetcharset cp367 csascii "
     "csunknown8bit default defaultcharset ibm367 iso2022jpesc iso646 iso646irv1991 iso646us "
     "isoir6 locale mime mycharset native nil no none null other quotedprintable replacement "
     "system text undefined unknown unknown7bit unknown8bit unknowncharset unknownencoding "
     "unspecified us usaascii usacsii usascii7 userdefined x8bit xascii xdefault xundefined "
     "xunknown xunknown8bit xunspecified xusascii xuserdefined "},
    {NB_CHARSET_WINDOWS_1252,
     " iso88591 windows1252 1252 819 8859 88591 cp1252 cp819 csisolatin1 cswindows1252 "
     "ibm819 iso8859 iso885911987 isoir100 isolatin1 l1 latin latin1 msansi western win1252 "
     "xcp1252 "},
    {"GB18030",
     " 54936 936 chinese chinesesimplified cngb cp1386 cp54936 cp936 csgb18030 csgb2312 "
     "csgbk csiso58gb231280 euccn eucgb2312 eucgb2312cn gb gb18030 gb180302000 gb180302005 "
     "gb180302022 gb2312 gb23121980 gb231219800 gb231280 gbk gbk0 hp15cn isoir58 ms936 "
     "windows936 xeuccn xgbk xmswin936 zhcneuc "},
    {"ISO-2022-JP-3",
     " 50220 50221 50222 cp50220 cp50221 cp50222 csiso2022jp csiso2022jp1 csjisencoding "
     "iso20227bit iso2022jp iso2022jp1 iso2022jp2004 iso2022jp3 iso2022jpext iso2022jpms jis "
     "jis7 jis8 jisautodetect jisencoding xwindows50220 xwindows50221 xwindowsiso2022jp "},
    {"BIG5-HKSCS",
     " 950 big5 big50 big5eten big5hkscs big5hkscs2001 big5hkscs2004 big5solaris big5tw "
     "big5uao bigfive chinesetraditional cnbig5 cp950 cp951 csbig5 csbig5hkscs hkscs ms950 "
     "ms950hkscs windows950 xbig5 xwindows950 xxbig5 "},
    {"CP949",
     " 51949 5601 949 949c cp51949 cp949 cseuckr csksc56011987 euckr euckrms isoir149 korean "
     "ksc5601 ksc56011987 ksc56011989 ksc56011992 ksx1001 ksx10011992 ms949 mscp949 uhc "
     "windows949 xwindows949 "},
    {"CP932", " 932 cp932 cp943c csshiftjis cswindows31j japanese ms932 mskanji pck shiftjis "
              "shiftjisms sjis sjisopen sjiswin windows31j windows932 xmscp932 xsjis "},
    {"EUC-JP-MS",
     " 51932 cp51932 cseucpkdfmtjapanese euc eucj eucjp eucjplinux eucjpms eucjpopen "
     "eucjpsolaris eucjpwin extendedunixcodepackedformatforjapanese japaneseeuc ujis xeucjp "},
    {"CP874", " 874 885911 cp874 cstis620 dos874 iso885911 iso8859112001 isoir166 ms874 thai thai8 "
              "tis620 tis6200 tis62025291 windows874 "},
    {"UTF-16",
     " 1200 cp1200 csiso10646ucs2 csunicode csutf16 iso10646 iso10646ucs2 u16 ucs2 unicode "
     "unicodebig unicodelittle utf16 utf16bom "},
    {"ISO-8859-6",
     " 88596 arabic asmo708 csiso88596e csiso88596i csisolatinarabic ecma114 iso88596 "
     "iso885961987 iso88596e iso88596i isoir127 "},
    {"ISO-8859-8",
     " 88598 csiso88598e csiso88598i csisolatinhebrew hebrew iso88598 iso885981988 iso88598e "
     "iso88598i isoir138 logical visual "},
    {"CP1254",
     " 88599 cp1254 csisolatin5 cswindows1254 iso88599 iso885991989 iso88599windowslatin5 "
     "isoir148 l5 latin5 msturk windows1254 "},
    {"ISO-8859-7",
     " 88597 csisolatingreek ecma118 elot928 greek greek8 iso88597 iso885971987 iso885972003 "
     "isoir126 suneugreek "},
    {NB_CHARSET_UTF_7,
     " 65000 cp65000 csunicode11utf7 csutf7 u7 unicode11utf7 unicode20utf7 utf7 utf7imap "
     "xunicode20utf7 "},
    {"ISO-8859-15",
     " 885915 csiso885915 csisolatin9 iso885915 iso8859151998 iso885915fdis isoir203 l9 "
     "latin0 latin9 "},
    {"ISO-8859-14", " 885914 csiso885914 iso885914 iso8859141998 isoceltic isoir199 l8 latin8 "},
    {"MAC-CYRILLIC",
     " 10007 maccyrillic macuk macukraine macukrainian xmaccyrillic xmacukrainian "},
    {"UTF-16BE", " 1201 cp1201 csutf16be ucs2be unicodebigunmarked unicodefffe utf16be "},
    {"ISO-8859-10", " 885910 csisolatin6 iso885910 iso8859101992 isoir157 l6 latin6 "},
    {"ISO-8859-16", " 885916 csiso885916 iso885916 iso8859162001 isoir226 l10 latin10 "},
    {"ISO-8859-2", " 88592 csisolatin2 iso88592 iso885921987 isoir101 l2 latin2 "},
    {"ISO-8859-3", " 88593 csisolatin3 iso88593 iso885931988 isoir109 l3 latin3 "},
    {"ISO-8859-4", " 88594 csisolatin4 iso88594 iso885941988 isoir110 l4 latin4 "},
    {"UTF-16LE", " cp1202 csutf16le ucs2le unicodefeff unicodelittleunmarked utf16le utf16lebom "},
    {"MACINTOSH", " 10000 csmacintosh mac macintosh macroman xmacroman "},
    {NB_CHARSET_HZ, " 52936 cp52936 hz hz2312 hzgb hzgb2312 "},
    {"ISO-8859-13", " 885913 csiso885913 iso885913 isoir179 l7 latin7 "},
    {"ISO-8859-5", " 88595 csisolatincyrillic cyrillic iso88595 iso885951988 isoir144 "},
    {"UTF-32", " csucs4 csutf32 iso10646ucs4 u32 ucs4 utf32 "},
    {"MAC-CENTRALEUROPE", " 10029 macce maccentraleurope maclatin2 xmacce "},
    {"JOHAB", " 1361 cp1361 johab ksc56011992johab ms1361 "},
    {"KOI8-R", " 20866 cskoi8r koi koi8 koi8r "},
    {"ISO-2022-CN", " 50227 cp50227 csiso2022cn iso2022cn iso2022cngb "},
    {"IBM866", " 866 cp866 csibm866 dos866 ibm866 "},
    {"UTF-32LE", " cp12000 csutf32le ucs4le utf32le utf32lebom "},
    {"UTF-32BE", " cp12001 csutf32be ucs4be utf32be utf32bebom "},
    {"PT154", " cp154 csptcp154 cyrillicasian pt154 ptcp154 "},
    {"SHIFT_JISX0213", " shiftjis2004 shiftjisx0213 sjis0213 sjis2004 sjisx0213 "},
    {"KOI8-U", " 21866 cskoi8u koi8ru koi8u "},
    {"ISO-2022-KR", " 50225 cp50225 csiso2022kr iso2022kr "},
    {"CP1250", " cp1250 cswindows1250 msee windows1250 "},
    {"CP1251", " cp1251 cswindows1251 mscyrl windows1251 "},
    {"CP1253", " cp1253 cswindows1253 msgreek windows1253 "},
    {"CP1255", " cp1255 cswindows1255 mshebr windows1255 "},
    {"CP1256", " cp1256 cswindows1256 msarab windows1256 "},
    {"CP1257", " cp1257 cswindows1257 winbaltrim windows1257 "},
    {"ROMAN8", " cshproman8 hproman8 r8 roman8 "},
    {"TCVN5712-1", " tcvn tcvn5712 tcvn57121 tcvn571211993 "},
    {"EUC-TW", " cns11643 euctw xeuctw "},
    {"CP1258", " cp1258 cswindows1258 windows1258 "},
    {"EUC-JISX0213", " eucjis2004 eucjisx0213 jisx0213 "},
    {"RK1048", " kz1048 rk1048 strk10482002 "},
    {"MAC-IS", " maciceland macis xmacicelandic "},
    {"ARMSCII-8", " armscii armscii8 "},
    {"ISO-2022-JP-2", " csiso2022jp2 iso2022jp2 "},
    {"ISO-2022-CN-EXT", " iso2022cncns iso2022cnext "},
    {"GEORGIAN-ACADEMY", " georgianacademy "},
    {"GEORGIAN-PS", " georgianps "},
    {"KOI8-T", " koi8t "},
    {NULL, " char internal wchart "},
};

/* Copies a label to `name` without the blanks and quotes that some mail programs put around it.
 * Returns false for a text that cannot name a charset (RFC 2978, 2.3), so that no options reach
 * iconv. */
static bool clean_name(struct nb_string label, char name[NB_CHARSET_NAME])
{
    static const char around[] = " \t\r\n\"';,";
    label = nb_string_trim_end(nb_string_trim_start(label, around), around);
    if (label.length == 0 || label.length >= NB_CHARSET_NAME)
        return false;
    for (size_t i = 0; i < label.length; i++) {
        char c = label.bytes[i];
        if (!nb_ascii_is_alphanumeric(c) && (c == '\0' || strchr("-_.:()+$", c) == NULL))
            return false;
        name[i] = c;
    }
    name[label.length] = '\0';
    return true;
}

static void make_key(const char *name, char key[NB_CHARSET_NAME])
{
    size_t length = 0;
    for (; *name != '\0'; name++)
        if (nb_ascii_is_alphanumeric(*name))
            key[length++] = nb_ascii_lower(*name);
    key[length] = '\0';
}

static const struct charset *find(const char *key)
{
    char wanted[NB_CHARSET_NAME + 2];
    (void)snprintf(wanted, sizeof wanted, " %s ", key);
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++)
        if (strstr(charsets[i].keys, wanted) != NULL)
            return &charsets[i];
    return NULL;
}

/* Returns the number after a name for code pages, "windows1251", "win1251", "cp1251", "ibm1251";
 * NULL if the key is none of these. */
static const char *code_page(const char *key)
{
    static const char *const names[] = {"windows", "win", "wincp", "codepage", "cp",
                                        "ms",      "ibm", "dos",   "oem",      ""};
    const char *number = key + strcspn(key, "0123456789");
    size_t digits = strspn(number, "0123456789");
    if (digits < 3 || digits > 5 || number[digits] != '\0')
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == (size_t)(number - key) &&
            strncmp(key, names[i], strlen(names[i])) == 0)
            return number;
    return NULL;
}

/* Like `find`; also finds a code page by its number, whatever prefix stands before it. */
static const struct charset *find_or_number(const char *key)
{
    const struct charset *label = find(key);
    const char *number = label == NULL ? code_page(key) : NULL;
    return number != NULL ? find(number) : label;
}

const char *nb_charset_of_label(struct nb_string label, char name[NB_CHARSET_NAME])
{
    char key[NB_CHARSET_NAME];
    if (!clean_name(label, name))
        return NULL;
    make_key(name, key);
    bool is_private = key[0] == 'x' && key[1] != '\0';
    const struct charset *found = find_or_number(key);
    if (found == NULL && is_private)
        found = find_or_number(key + 1);
    if (found != NULL)
        return found->charset;
    const char *number = code_page(is_private ? key + 1 : key);
    if (number != NULL)
        (void)snprintf(name, NB_CHARSET_NAME, "CP%s", number); /* at most five digits */
    return name;
}
