package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class UserNamespaceTest {
    @Test
    void aNamespaceWithAllUsersShowsEachByItsOwnId() {
        assertThat(UserNamespace.uidOfOthers("         0          0 4294967295\n", "65534\n"))
                .isEmpty();
    }

    @Test
    void aNamespaceWithSomeUsersShowsTheOthersByOneId() {
        assertThat(UserNamespace.uidOfOthers("         0     100000      65536\n", "65534\n"))
                .hasValue(65534);
        assertThat(UserNamespace.uidOfOthers("0 1000 1\n1 100000 65536\n", "65533\n"))
                .hasValue(65533);
    }

    @Test
    void itIsReadFromTheKernel() throws IOException {
        String map = Files.readString(Path.of("/proc/self/uid_map"));
        assertThat(UserNamespace.uidOfOthers().isEmpty()).isEqualTo(map.contains("4294967295"));
    }
}
