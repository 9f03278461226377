package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.docs.site.LinkTarget;
import dev.lite.docs.site.Page;
import dev.lite.docs.site.Site;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Links, anchors and lines, in the Markdown and in the site. */
class PagesTest {
    private static final int COLUMNS_MAX = 120;
    private static final Pattern REFERENCE = Pattern.compile("\\bdocs/[a-zA-Z/_-]+\\.md");
    private static final Pattern LINK = Pattern.compile("(?:href|src)=\"([^\"]*)\"");
    private static final Pattern ID = Pattern.compile(" id=\"([^\"]*)\"");

    @Test
    void everyLinkOfAPageLeadsToAFileAndAnAnchor() {
        List<Page> pages = Repository.pages();
        Map<Path, Page> byPath = pages.stream().collect(Collectors.toMap(Page::path, Function.identity()));
        List<String> broken = new ArrayList<>();
        int count = 0;
        for (Page page : pages) {
            for (String link : page.links()) {
                if (LinkTarget.isExternal(link)) {
                    continue;
                }
                count++;
                LinkTarget target = LinkTarget.of(page, link);
                Page targetPage = byPath.get(target.path());
                boolean isGood = targetPage == null
                        ? Files.exists(Repository.ROOT.resolve(target.path()))
                        : target.fragment().isEmpty()
                                || targetPage
                                        .anchors()
                                        .contains(target.fragment().substring(1));
                if (!isGood) {
                    broken.add(page.path() + ": " + link);
                }
            }
        }
        assertThat(broken).isEmpty();
        assertThat(count).isGreaterThan(20);
    }

    @Test
    void everyLinkOfTheSiteLeadsToAFileAndAnAnchor(@TempDir Path site) throws IOException {
        int pages = Site.write(Repository.ROOT, site);
        assertThat(pages).isEqualTo(Repository.pages().size());
        List<Path> files;
        try (Stream<Path> all = Files.walk(site)) {
            files = all.filter(file -> file.toString().endsWith(".html")).toList();
        }
        assertThat(files).hasSize(pages);
        assertThat(brokenLinks(site, files)).isEmpty();
    }

    private static List<String> brokenLinks(Path site, List<Path> files) {
        List<String> broken = new ArrayList<>();
        for (Path file : files) {
            Matcher link = LINK.matcher(Repository.read(file));
            while (link.find()) {
                String to = link.group(1);
                if (LinkTarget.isExternal(to)) {
                    continue;
                }
                String[] parts = to.split("#", 2);
                Path target = parts[0].isEmpty()
                        ? file
                        : file.resolveSibling(parts[0]).normalize();
                if (!Files.isRegularFile(target)
                        || to.contains(".md")
                        || (parts.length == 2 && !ids(target).contains(parts[1]))) {
                    broken.add(site.relativize(file) + ": " + to);
                }
            }
        }
        return broken;
    }

    private static Set<String> ids(Path file) {
        return ID.matcher(Repository.read(file))
                .results()
                .map(id -> id.group(1))
                .collect(Collectors.toCollection(HashSet::new));
    }

    @Test
    void aBrokenLinkOfASiteIsFound(@TempDir Path site) throws IOException {
        Path file = Files.writeString(
                site.resolve("a.html"),
                "<h1 id=\"x\"></h1><a href=\"#x\"></a><a href=\"#y\"></a>" + "<a href=\"b.html\"></a>");
        assertThat(brokenLinks(site, List.of(file))).containsExactly("a.html: #y", "a.html: b.html");
    }

    @Test
    void sourcesAndBuildFilesNameOnlyPagesThatExist() {
        List<String> broken = new ArrayList<>();
        for (Path file : Repository.files(name -> name.endsWith(".java") || name.equals("pom.xml"))) {
            Matcher reference = REFERENCE.matcher(Repository.read(file));
            while (reference.find()) {
                if (!Files.exists(Repository.ROOT.resolve(reference.group()))) {
                    broken.add(Repository.ROOT.relativize(file) + ": " + reference.group());
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void onlyTablesHaveLinesOfMoreThan120Columns() {
        List<String> tooLong = new ArrayList<>();
        for (Page page : Repository.pages()) {
            List<String> lines = page.markdown().lines().toList();
            for (int index = 0; index < lines.size(); index++) {
                String line = lines.get(index);
                if (line.length() > COLUMNS_MAX && !line.startsWith("|")) {
                    tooLong.add("%s:%d: %d columns".formatted(page.path(), index + 1, line.length()));
                }
            }
        }
        assertThat(tooLong).isEmpty();
    }
}
