/** The documentation as a site: one HTML page for each Markdown file, with navigation. */
@NullMarked
package dev.lite.docs.site;

import org.jspecify.annotations.NullMarked;
