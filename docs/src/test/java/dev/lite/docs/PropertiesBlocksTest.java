package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.docs.site.Page;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.YamlPropertiesFactoryBean;
import org.springframework.core.io.ByteArrayResource;

class PropertiesBlocksTest {
    /** Properties of others, whose metadata is not in this build. */
    private static final List<String> OTHERS =
            List.of("server.", "spring.", "management.", "logging.", "resilience4j.");

    @Test
    void everyPropertyOfABlockIsInTheMetadata() throws Exception {
        for (CodeBlock block : Repository.blocks("properties")) {
            Properties properties = new Properties();
            properties.load(new StringReader(block.text()));
            check(block, properties);
        }
        for (CodeBlock block : Repository.blocks("yaml")) {
            YamlPropertiesFactoryBean yaml = new YamlPropertiesFactoryBean();
            yaml.setResources(new ByteArrayResource(block.text().getBytes(StandardCharsets.UTF_8)));
            Properties properties = yaml.getObject();
            assertThat(properties).as(block.where()).isNotNull();
            check(block, properties);
        }
    }

    private static void check(CodeBlock block, Properties properties) {
        assertThat(properties).as(block.where()).isNotEmpty();
        for (String name : new ArrayList<>(properties.stringPropertyNames())) {
            assertThat(isKnown(name))
                    .as("%s: %s is a property", block.where(), name)
                    .isTrue();
        }
    }

    private static final Pattern NAME = Pattern.compile(
            "`(lite\\.(?:client|cluster|embedded|fabric|manager|mr|node)(?:\\.[a-z-]+)*)(?:[\\[=][^`]*)?`");

    /** Whether there is such a property, or another project has it. */
    static boolean isKnown(String name) {
        return Metadata.isKnown(name) || OTHERS.stream().anyMatch(name::startsWith);
    }

    /** A property, the beginning of properties, or a name that the sources have, such as that of a metric. */
    @Test
    void everyNameWithinTheTextIsOneOfTheSources() {
        String sources = Repository.files(name -> name.endsWith(".java")).stream()
                .filter(file -> !file.startsWith(Repository.ROOT.resolve("docs")))
                .map(Repository::read)
                .collect(Collectors.joining("\n"));
        List<String> unknown = new ArrayList<>();
        int count = 0;
        for (Page page : Repository.pages()) {
            Matcher name = NAME.matcher(page.markdown());
            while (name.find()) {
                count++;
                if (!Metadata.isKnown(name.group(1))
                        && !Metadata.isPrefix(name.group(1))
                        && !sources.contains('"' + name.group(1) + '"')) {
                    unknown.add(page.path() + ": " + name.group(1));
                }
            }
        }
        assertThat(unknown).isEmpty();
        assertThat(count).isGreaterThan(50);
    }

    @Test
    void aNameThatIsInNoMetadataIsFound() {
        assertThat(isKnown("lite.node.arena.size")).isTrue();
        assertThat(isKnown("lite.node.principals[0].name")).isTrue();
        assertThat(isKnown("lite.node.arena.sise")).isFalse();
    }
}
