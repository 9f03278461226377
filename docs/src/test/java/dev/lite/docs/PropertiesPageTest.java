package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.docs.Metadata.Property;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PropertiesPageTest {
    private static final Path PAGE = Repository.ROOT.resolve("docs/reference/properties.md");

    @Test
    void thePageHasWhatTheMetadataHas() throws IOException {
        if (Boolean.getBoolean("lite.docs.write")) {
            Files.writeString(PAGE, PropertiesPage.markdown());
        }
        assertThat(Repository.read(PAGE))
                .as(
                        "docs/reference/properties.md is not what the metadata of the properties says. Write it again: mvn verify"
                                + " -pl docs -am -Dtest=PropertiesPageTest -Dsurefire.failIfNoSpecifiedTests=false"
                                + " -Dlite.docs.write=true")
                .isEqualTo(PropertiesPage.markdown());
    }

    @Test
    void everyPropertyHasATypeAndADescription() {
        for (String module : Metadata.MODULES) {
            Map<String, Property> properties = Metadata.of(module);
            assertThat(properties).as(module).isNotEmpty();
            assertThat(properties.values()).allSatisfy(property -> {
                assertThat(property.type()).as("type of " + property.name()).isNotEmpty();
                assertThat(property.description())
                        .as("description of %s; write it in the Javadoc of the class in %s", property.name(), module)
                        .endsWith(".");
            });
        }
    }

    @Test
    void noPropertyOfLiteIsDescribedTwice() {
        Map<String, String> moduleOf = new TreeMap<>();
        for (String module : Metadata.MODULES) {
            Metadata.of(module).keySet().stream()
                    .filter(name -> name.startsWith("lite."))
                    .forEach(name -> assertThat(moduleOf.put(name, module))
                            .as("another module than %s that describes %s", module, name)
                            .isNull());
        }
    }
}
