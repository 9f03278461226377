package dev.lite.docs;

import dev.lite.docs.site.Page;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.IndentedCodeBlock;
import org.commonmark.node.Node;
import org.jspecify.annotations.Nullable;

/**
 * A code block of a page. A comment directly before it may say more: {@code <!-- java: CONTEXT -->} names the file in src/test/contexts
 * that it is a part of, and {@code <!-- not run: REASON -->} exempts it from every check.
 *
 * @param page the file, relative to the repository
 * @param line its first line, counted from 1
 * @param kind the word after the fence; {@code shell} for an indented block; empty if there is no word
 * @param text its content
 * @param context the named context, or null
 * @param notRun the reason why it is exempt, or null
 */
record CodeBlock(
        Path page,
        int line,
        String kind,
        String text,
        @Nullable String context,
        @Nullable String notRun) {
    private static final Pattern COMMENT = Pattern.compile("<!-- (java|not run): (.+) -->");

    /** The code blocks of a page. */
    static List<CodeBlock> of(Page page) {
        List<CodeBlock> blocks = new ArrayList<>();
        page.parse().accept(new AbstractVisitor() {
            @Override
            public void visit(FencedCodeBlock block) {
                blocks.add(of(page, block, block.getInfo().toLowerCase(Locale.ROOT), block.getLiteral()));
            }

            @Override
            public void visit(IndentedCodeBlock block) {
                blocks.add(of(page, block, "shell", block.getLiteral()));
            }
        });
        return blocks;
    }

    private static CodeBlock of(Page page, Node block, String kind, String text) {
        int line = block.getSourceSpans().getFirst().getLineIndex() + 1;
        String context = null;
        String notRun = null;
        if (block.getPrevious() instanceof HtmlBlock html) {
            Matcher comment = COMMENT.matcher(html.getLiteral());
            if (!comment.matches()) {
                throw new AssertionError(
                        "%s:%d: %s is not %s".formatted(page.path(), line, html.getLiteral(), COMMENT));
            }
            if (comment.group(1).equals("java")) {
                context = comment.group(2);
            } else {
                notRun = comment.group(2);
            }
        }
        return new CodeBlock(page.path(), line, notRun == null ? kind : "not run", text, context, notRun);
    }

    /** Where it is. */
    String where() {
        return page + ":" + line;
    }
}
