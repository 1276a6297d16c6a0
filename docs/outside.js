// Pages link to METHODOLOGY.md at the top of the repository, as GitHub needs it. In the book it is
// a chapter: see the symbolic link in src/.
for (const link of document.querySelectorAll('main a[href*="../METHODOLOGY.html"]')) {
    const anchor = link.hash;
    link.href = path_to_root + "METHODOLOGY.html" + anchor;
}
