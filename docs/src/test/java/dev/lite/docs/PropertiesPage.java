package dev.lite.docs;

import dev.lite.docs.Metadata.Property;
import java.util.Collection;

/** The page reference/properties.md, from the properties' metadata. */
final class PropertiesPage {
    private static final String HEAD = """
            # Properties

            <!-- Generated from the metadata of the properties; contributing.md says how to write it again. -->

            Every property of LITE. A property can also be an environment variable: `LITE_CLIENT_SOCKET` sets
            `lite.client.socket`. A duration is written as `500ms`, `2s` or `10m`, a size as `64KB` or `4GB`.
            [Running LITE](../operating/running.md) says which ones an operator needs.
            """;

    private PropertiesPage() {}

    /** The page's content. */
    static String markdown() {
        StringBuilder page = new StringBuilder(HEAD);
        section(
                page,
                "Application",
                Metadata.of("lite-starter/lite-spring-boot").values());
        section(page, "Embedded node", Metadata.of("lite-node/lite-embedded").values());
        section(page, "MapReduce", Metadata.of("lite-starter/lite-apps/lite-mr").values());
        section(
                page,
                "Manager and node",
                Metadata.of("lite-manager/lite-process").values());
        section(page, "Node", Metadata.of("lite-node/lite-node-app").values());
        section(page, "Manager", Metadata.of("lite-manager/lite-manager-app").values());
        return page.toString();
    }

    private static void section(StringBuilder page, String title, Collection<Property> properties) {
        page.append("\n## ")
                .append(title)
                .append("\n\n| property | type | default | description |\n|---|---|---|---|\n");
        for (Property property : properties) {
            page.append("| `%s` | %s | %s | %s |%n"
                    .formatted(
                            property.name(),
                            type(property.type()),
                            property.defaultValue().isEmpty() ? "–" : "`" + property.defaultValue() + "`",
                            escape(property.description())));
        }
    }

    /** Without packages and outer classes: {@code List<Path>}. */
    private static String type(String type) {
        return escape(type.replaceAll("[A-Za-z0-9_.]*[.$](?=[A-Z][A-Za-z]*\\b)", ""));
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("*", "\\*")
                .replace("|", "\\|")
                .replace("_", "\\_");
    }
}
