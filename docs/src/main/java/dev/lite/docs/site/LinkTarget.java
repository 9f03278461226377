package dev.lite.docs.site;

import java.nio.file.Path;

/**
 * Where a link within the repository leads.
 *
 * @param path the file, relative to the repository
 * @param fragment the anchor with its {@code #}, or empty
 */
public record LinkTarget(Path path, String fragment) {

    /** Whether the link leaves the repository. */
    public static boolean isExternal(String link) {
        return link.matches("[a-z]+:.*");
    }

    /** The target of a link, which is not external, in this page. */
    public static LinkTarget of(Page page, String link) {
        int hash = link.indexOf('#');
        String file = hash < 0 ? link : link.substring(0, hash);
        String fragment = hash < 0 ? "" : link.substring(hash);
        return new LinkTarget(
                file.isEmpty() ? page.path() : page.path().resolveSibling(file).normalize(), fragment);
    }
}
