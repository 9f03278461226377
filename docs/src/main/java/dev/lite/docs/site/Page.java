package dev.lite.docs.site;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.IncludeSourceSpans;
import org.commonmark.parser.Parser;

/**
 * A Markdown file of the documentation. Any thread; each call of {@link #parse} returns a tree of its own.
 *
 * @param path the file, relative to the repository
 * @param markdown its content
 */
public record Page(Path path, String markdown) {
    private static final Path DOCS = Path.of("docs");
    private static final Path README = Path.of("README.md");
    private static final Parser PARSER = Parser.builder()
            .extensions(List.of(TablesExtension.create()))
            .includeSourceSpans(IncludeSourceSpans.BLOCKS)
            .build();

    /**
     * The pages of a repository: README.md, and every Markdown file in docs.
     *
     * @throws UncheckedIOException if a file cannot be read
     */
    public static List<Page> of(Path repository) {
        List<Page> pages = new ArrayList<>();
        pages.add(read(repository, README));
        FileTree.files(repository.resolve(DOCS), all -> true, file -> isPage(repository.relativize(file)))
                .forEach(file -> pages.add(read(repository, repository.relativize(file))));
        return List.copyOf(pages);
    }

    /** Whether this file of the repository is a page. */
    static boolean isPage(Path path) {
        return path.equals(README)
                || (path.startsWith(DOCS)
                        && !path.startsWith(DOCS.resolve("src"))
                        && !path.startsWith(DOCS.resolve("target"))
                        && path.toString().endsWith(".md"));
    }

    private static Page read(Path repository, Path path) {
        try {
            return new Page(path, Files.readString(repository.resolve(path)));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + path, e);
        }
    }

    /** A new tree of its content. */
    public Node parse() {
        return PARSER.parse(markdown);
    }

    /** The file of this page in the site: README.md is index.html, and docs is the site's root. */
    public Path sitePath() {
        if (path.equals(README)) {
            return Path.of("index.html");
        }
        String file = DOCS.relativize(path).toString();
        return Path.of(file.substring(0, file.length() - ".md".length()) + ".html");
    }

    /** The text of its first heading. */
    public String title() {
        return headings().isEmpty() ? path.toString() : text(headings().getFirst());
    }

    /** The anchors of its headings, in their order. GitHub and the site use the same. */
    public List<String> anchors() {
        IdGenerator ids = IdGenerator.builder().build();
        return headings().stream().map(heading -> ids.generateId(text(heading))).toList();
    }

    /** The targets of its links and images, as they are written. */
    public List<String> links() {
        List<String> links = new ArrayList<>();
        parse().accept(new AbstractVisitor() {
            @Override
            public void visit(Link link) {
                links.add(link.getDestination());
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                links.add(image.getDestination());
                visitChildren(image);
            }
        });
        return links;
    }

    private List<Heading> headings() {
        List<Heading> headings = new ArrayList<>();
        parse().accept(new AbstractVisitor() {
            @Override
            public void visit(Heading heading) {
                headings.add(heading);
            }
        });
        return headings;
    }

    private static String text(Node node) {
        StringBuilder text = new StringBuilder();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(Text part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(Code part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(SoftLineBreak part) {
                text.append(' ');
            }
        });
        return text.toString();
    }
}
