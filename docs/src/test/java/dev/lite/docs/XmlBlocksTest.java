package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class XmlBlocksTest {
    @Test
    void everyDependencyIsAnArtifactOfTheBomInThisVersion() throws Exception {
        Set<String> known = new HashSet<>();
        for (Element dependency :
                dependencies(Repository.read(Repository.ROOT.resolve("lite-starter/lite-bom/pom.xml")))) {
            known.add(text(dependency, "artifactId"));
        }
        assertThat(known).contains("lite-spring-boot-starter");
        int count = 0;
        for (CodeBlock block : Repository.blocks("xml")) {
            for (Element dependency : dependencies("<block>" + block.text() + "</block>")) {
                assertThat(text(dependency, "groupId")).as(block.where()).isEqualTo("dev.lite");
                assertThat(known).as(block.where()).contains(text(dependency, "artifactId"));
                assertThat(text(dependency, "version")).as(block.where()).isIn("", Repository.VERSION);
                count++;
            }
        }
        assertThat(count).isPositive();
    }

    private static List<Element> dependencies(String xml) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
        Document document = factory.newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
        NodeList nodes = document.getElementsByTagName("dependency");
        List<Element> dependencies = new ArrayList<>();
        for (int index = 0; index < nodes.getLength(); index++) {
            dependencies.add((Element) nodes.item(index));
        }
        return dependencies;
    }

    private static String text(Element dependency, String name) {
        NodeList nodes = dependency.getElementsByTagName(name);
        return nodes.getLength() == 0 ? "" : nodes.item(0).getTextContent();
    }
}
