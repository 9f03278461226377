package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file with a node's key. */
class NodeKeyTest {
    @TempDir
    Path directory;

    private Path file = Path.of("");

    @BeforeEach
    void nameFile() {
        file = directory.resolve("key");
    }

    @Test
    void theKeyOfTheFirstStartIsUsedAgainAndOnlyThisUserCanReadIt() throws IOException {
        NodeKey first = NodeKey.open(file);

        assertThat(NodeKey.open(file).text()).isEqualTo(first.text());
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(first.publicKey()).hasSize(32);
        assertThat(first.toString()).doesNotContain(first.text());
    }

    @Test
    void aKeyThatOthersCanReadIsReplaced() throws IOException {
        NodeKey first = NodeKey.open(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));

        NodeKey next = NodeKey.open(file);

        assertThat(next.text()).isNotEqualTo(first.text());
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
    }

    @Test
    void aLinkOrADamagedFileIsReplaced() throws IOException {
        NodeKey elsewhere = NodeKey.open(directory.resolve("elsewhere"));
        Files.createSymbolicLink(file, directory.resolve("elsewhere"));
        assertThat(NodeKey.open(file).text()).isNotEqualTo(elsewhere.text());
        assertThat(Files.isSymbolicLink(file)).isFalse();

        String text = Files.readString(file);
        for (String damaged : new String[] {
            "", "x\ny\n", text.substring(0, 40), text.lines().findFirst().orElse("")
        }) {
            Files.writeString(file, damaged);
            NodeKey made = NodeKey.open(file);
            assertThat(NodeKey.open(file).text()).isEqualTo(made.text());
        }
    }

    @Test
    void aPublicKeyOfAnotherPairIsNotUsed() throws IOException {
        NodeKey one = NodeKey.open(file);
        NodeKey other = NodeKey.open(directory.resolve("other"));
        String ofOne = Files.readString(file).lines().findFirst().orElseThrow();
        String ofOther = Files.readString(directory.resolve("other"))
                .lines()
                .skip(1)
                .findFirst()
                .orElseThrow();
        Files.writeString(file, ofOne + "\n" + ofOther + "\n");

        assertThat(NodeKey.open(file).text()).isNotIn(one.text(), other.text());
    }
}
