package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.docs.site.Page;
import java.util.ArrayList;
import java.util.List;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShellBlocksTest {
    @Test
    void everyCommandOfABlockNamesExistingProfilesModulesOptionsAndProperties() {
        for (CodeBlock block : Repository.blocks("shell")) {
            List<ShellCommand> commands = ShellCommand.of(block.text());
            assertThat(commands).as(block.where()).isNotEmpty();
            for (ShellCommand command : commands) {
                assertThatCode(command::check)
                        .as("%s: %s", block.where(), command.words())
                        .doesNotThrowAnyException();
            }
        }
    }

    @Test
    void everyCommandWithinTheTextDoesSoToo() {
        int count = 0;
        for (Page page : Repository.pages()) {
            List<String> spans = new ArrayList<>();
            page.parse().accept(new AbstractVisitor() {
                @Override
                public void visit(Code code) {
                    spans.add(code.getLiteral());
                }
            });
            for (String span : spans) {
                if (span.startsWith("mvn ") || span.startsWith("lite ")) {
                    count++;
                    assertThatCode(() -> ShellCommand.parse(span).check())
                            .as("%s: %s", page.path(), span)
                            .doesNotThrowAnyException();
                }
            }
        }
        assertThat(count).isPositive();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mvn -Pdemmo",
                "mvn verify -pl lite-node/lite-knot",
                "mvn -Pdemo -Dlite.demo.fyle=x",
                "lite-manager/lite-cli/target/lite upp",
                "lite up --knots 3",
                "eval \"$(lite envy)\"",
                "java -jar lite-node-app-*-exec.jar --lite.node.nome=a",
                "frobnicate"
            })
    void aWrongCommandIsFound(String command) {
        assertThatThrownBy(() -> ShellCommand.of(command).getFirst().check())
                .isInstanceOf(IllegalArgumentException.class);
    }
}
