package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** All samples as real processes, on one cluster of three nodes. */
class SamplesTest {

    private static final SampleRun RUN = new SampleRun(SampleSettings.of(System.getProperties()));
    private static LocalCluster cluster;

    private final List<String> lines = new CopyOnWriteArrayList<>();

    @BeforeAll
    static void startCluster() {
        LocalClusterBuilder builder = RUN.cluster()
                .name("samples-" + ProcessHandle.current().pid())
                .nodeJavaOption("-XX:TieredStopAtLevel=1")
                .startDeadline(Waits.seconds(90))
                .logDirectory(Path.of(System.getProperty("lite.sample.logs")));
        cluster = builder.build();
        cluster.up(line -> {});
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @Test
    void viewersOfThePriceBoardSeeConsistentQuotesOfThePublisher() {
        run(Sample.PRICE_BOARD);
        assertThat(lines).anyMatch(line -> line.matches("publisher-1 +\\| First quote of TEA: \\d+\\.\\d\\d/.*#1"));
        for (String viewer : List.of("viewer-2", "viewer-3")) {
            List<MatchResult> boards = find(viewer + " +\\| TEA .*#(\\d+) .*COFFEE .*#(\\d+) .*COCOA .*#(\\d+)");
            assertThat(boards).hasSize(4);
            for (int group = 1; group <= 3; group++) {
                assertThat(number(boards.getLast(), group))
                        .as("the viewer waits for so many quotes of each instrument")
                        .isGreaterThan(2000);
            }
            assertThat(find(viewer + " +\\| Read [0-9,]+ quotes: all consistent, none older than the one before"))
                    .hasSize(1);
        }
    }

    @Test
    void shopsLoseNoOrderAndTheWarehouseRejectsAnOlderToken() {
        run(Sample.ORDER_COUNTER);
        assertThat(find("shop-[23] +\\| Placed 200 orders, from number \\d+ to \\d+"))
                .hasSize(2);
        assertThat(
                        find(
                                "shop-[23] +\\| Refused as it should be: .*order \\d+ comes too late: its token for tea is (\\d+), and (\\d+) was seen"))
                .hasSize(2)
                .allSatisfy(refused -> assertThat(number(refused, 1)).isLessThan(number(refused, 2)));
        List<MatchResult> books =
                find("\\| The books are right: 2,000 pieces at first, (\\d+) sold by 400 orders, (.*) left");
        assertThat(books).hasSize(2);
        assertThat(number(books.getFirst(), 1)).isBetween(400L, 1200L);
    }

    @Test
    void photosOfMoreThanOneMebibyteBecomeThumbnailsAtNodesThatServeTheFunction() {
        run(Sample.THUMBNAIL_RPC);
        List<MatchResult> photos = find(
                "gallery-1 +\\| Photo (\\d), PNG of ([0-9,]+) bytes: thumbnail of 160 x 120 pixels, .*made at node-[23]");
        assertThat(photos)
                .extracting(photo -> photo.group(1))
                .containsExactlyInAnyOrder("1", "2", "3", "4", "5", "6", "7", "8");
        assertThat(photos).allSatisfy(photo -> assertThat(number(photo, 2)).isGreaterThan(1 << 20));
        assertThat(find("gallery-1 +\\| 8 thumbnails, made at \\{node-[23]=\\d(, node-3=\\d)?}"))
                .hasSize(1);
    }

    private void run(Sample sample) {
        RUN.run(sample, cluster, line -> {
            System.out.println(line);
            lines.add(line);
        });
    }

    private List<MatchResult> find(String regex) {
        Pattern pattern = Pattern.compile(regex);
        return lines.stream().flatMap(line -> pattern.matcher(line).results()).toList();
    }

    private static long number(MatchResult result, int group) {
        return Long.parseLong(result.group(group).replace(",", ""));
    }
}
