/* SPDX-License-Identifier: MIT
 *
 * page_assets.h - the style and the script of the page, built in.
 *
 * page/embed.py makes page_assets.c from page/page.css and page/page.js. Constants only.
 */
#ifndef WEIR_WEB_PAGE_ASSETS_H
#define WEIR_WEB_PAGE_ASSETS_H

/* Text that can stand in an element of the page as it is. */
extern const char page_style[];
extern const char page_script[];
/* The value of Content-Security-Policy, with the hashes of these two. */
extern const char page_policy_text[];

#endif
