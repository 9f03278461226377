package dev.lite.docs.site;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.renderer.html.HtmlRenderer;

/** Writes the pages as HTML. Links between Markdown files become links between pages; other files are copied. One thread. */
public final class Site {
    /** The pages in the order of the navigation, by section. */
    private static final List<Section> NAVIGATION = List.of(
            new Section("Start", "README.md", "docs/getting-started.md", "docs/concepts.md", "docs/using.md"),
            new Section(
                    "Applications",
                    "docs/log.md",
                    "docs/mapreduce.md",
                    "docs/evaluation/applications.md",
                    "docs/evaluation/log.md",
                    "docs/evaluation/mapreduce.md"),
            new Section(
                    "Reference",
                    "docs/reference/api.md",
                    "docs/reference/exceptions.md",
                    "docs/reference/memory-model.md",
                    "docs/reference/properties.md",
                    "docs/glossary.md"),
            new Section(
                    "Operating",
                    "docs/operating/running.md",
                    "docs/operating/kubernetes.md",
                    "docs/operating/monitoring.md",
                    "docs/operating/failures.md",
                    "docs/operating/manager.md",
                    "docs/operating/qos.md",
                    "docs/operating/rdma.md",
                    "docs/security.md"),
            new Section(
                    "Internals",
                    "docs/internals.md",
                    "docs/simulation.md",
                    "docs/evaluation/callers.md",
                    "docs/contributing.md"));

    private static final HtmlRenderer RENDERER = HtmlRenderer.builder()
            .extensions(List.of(TablesExtension.create(), HeadingAnchorExtension.create()))
            .build();

    private final Path repository;
    private final Path output;
    private final Map<Path, Page> pages = new HashMap<>();

    private Site(Path repository, Path output, List<Page> pages) {
        this.repository = repository;
        this.output = output;
        pages.forEach(page -> this.pages.put(page.path(), page));
    }

    private record Section(String title, List<Path> pages) {
        Section(String title, String... pages) {
            this(title, List.of(pages).stream().map(Path::of).toList());
        }
    }

    /**
     * Writes the site of a repository.
     *
     * @param output the directory, created if it is missing; existing files are overwritten
     * @return the number of pages
     * @throws IllegalStateException if a page is missing in the navigation, or the navigation or a link names a file that
     *     does not exist
     * @throws UncheckedIOException if a file cannot be read or written
     */
    public static int write(Path repository, Path output) {
        List<Page> pages = Page.of(repository);
        Site site = new Site(repository, output, pages);
        site.checkNavigation();
        try {
            for (Page page : pages) {
                site.write(page);
            }
            try (InputStream style = Objects.requireNonNull(Site.class.getResourceAsStream("style.css"))) {
                Files.copy(style, output.resolve("style.css"), StandardCopyOption.REPLACE_EXISTING);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write the site to " + output, e);
        }
        return pages.size();
    }

    private void checkNavigation() {
        List<Path> listed =
                NAVIGATION.stream().flatMap(section -> section.pages().stream()).toList();
        for (Path path : listed) {
            if (!pages.containsKey(path)) {
                throw new IllegalStateException("the navigation has %s, which does not exist".formatted(path));
            }
        }
        for (Path path : pages.keySet()) {
            if (!listed.contains(path)) {
                throw new IllegalStateException(
                        "%s is not in the navigation; add it to the list in Site".formatted(path));
            }
        }
    }

    private void write(Page page) throws IOException {
        Node content = page.parse();
        content.accept(new AbstractVisitor() {
            @Override
            public void visit(Link link) {
                link.setDestination(rewrite(page, link.getDestination()));
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                image.setDestination(rewrite(page, image.getDestination()));
                visitChildren(image);
            }
        });
        Path file = output.resolve(page.sitePath());
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.writeString(
                file,
                """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>%s</title>
                <link rel="stylesheet" href="%s">
                </head>
                <body>
                <nav>
                %s</nav>
                <main>
                %s</main>
                </body>
                </html>
                """.formatted(
                                escape(page.title()),
                                relative(page, Path.of("style.css")),
                                navigation(page),
                                RENDERER.render(content)),
                StandardCharsets.UTF_8);
    }

    private String navigation(Page current) {
        StringBuilder html = new StringBuilder();
        for (Section section : NAVIGATION) {
            html.append("<h2>").append(section.title()).append("</h2>\n<ul>\n");
            for (Path path : section.pages()) {
                Page page = Objects.requireNonNull(pages.get(path));
                html.append("<li><a href=\"")
                        .append(relative(current, page.sitePath()))
                        .append(page.equals(current) ? "\" aria-current=\"page\">" : "\">")
                        .append(escape(page.title()))
                        .append("</a></li>\n");
            }
            html.append("</ul>\n");
        }
        return html.toString();
    }

    private String rewrite(Page page, String link) {
        if (LinkTarget.isExternal(link)) {
            return link;
        }
        LinkTarget target = LinkTarget.of(page, link);
        Page targetPage = pages.get(target.path());
        if (targetPage != null) {
            return targetPage.equals(page)
                    ? target.fragment()
                    : relative(page, targetPage.sitePath()) + target.fragment();
        }
        Path file = repository.resolve(target.path());
        if (!Files.isRegularFile(file)) {
            throw new IllegalStateException(
                    "%s has a link to %s, which is not a file of the repository".formatted(page.path(), link));
        }
        Path copy = Path.of("files").resolve(target.path());
        try {
            Files.createDirectories(Objects.requireNonNull(output.resolve(copy).getParent()));
            Files.copy(file, output.resolve(copy), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot copy " + file, e);
        }
        return relative(page, copy);
    }

    private static String relative(Page from, Path sitePath) {
        Path directory = Path.of("/").resolve(from.sitePath()).getParent();
        return Objects.requireNonNull(directory)
                .relativize(Path.of("/").resolve(sitePath))
                .toString();
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
