package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands as a user types them, with their output and exit status, against a fake manager. */
class CommandsTest extends AgainstFakeManager {
    private static final String VIEW =
            "{'cluster':'lite','name':'host/7','leads':true,'leader':'host/7','managers':['host/7','b'],'directoryAvailable':true,'epoch':5,'openOrders':1}";
    private static final String NODES =
            "[{'name':'node-1','id':0,'incarnation':3,'host':'alpha/123','arenaBytes':67108864,'fabrics':{'tcp':'x','shm':'y'},'draining':false},"
                    + "{'name':'node-two','id':11,'incarnation':1,'host':'beta/9','arenaBytes':1610612736,'fabrics':{},'draining':true}]";

    private static final String NODES_WITH_STATE = NODES.replace(
                    "false}", "false,'state':{'arena':{'usedBytes':1048576,'freeBytes':66060288}}}")
            .replace("true}", "true,'problem':'it is paused'}");

    @Test
    void nodesPrintsATableWithAlignedColumns() {
        manager.with("GET /api/nodes?state=true", 200, NODES_WITH_STATE);
        assertThat(ask("nodes")).isZero();
        assertThat(out.toString()).isEqualTo("""
                NAME      ID  INCARNATION  STATE     ARENA    USED   FREE    FABRICS  HOST
                node-1    0   3            live      64 MiB   1 MiB  63 MiB  shm,tcp  alpha
                node-two  11  1            draining  1.5 GiB  ?      ?                beta
                """);
        assertThat(err.toString()).isEqualTo("node-two: it is paused\n");
    }

    @Test
    void theManagerMayBeNamedBeforeTheCommandOrAfterIt() {
        manager.with("GET /api/nodes?state=true", 200, NODES_WITH_STATE)
                .with("DELETE /api/orders/7", 200, "{'id':7,'state':'CANCELLED'}");
        assertThat(lite("--manager", manager.url(), "nodes")).as(err.toString()).isZero();
        assertThat(out.toString()).contains("node-two");
        assertThat(lite("--manager=" + manager.url(), "orders", "cancel", "7"))
                .as(err.toString())
                .isZero();
        assertThat(lite("--manager", "http://127.0.0.1:1", "nodes", "--manager", manager.url()))
                .as("the one after the command counts")
                .isZero();
    }

    @Test
    void aManagerBeforeACommandThatAsksNoneIsRefused() {
        assertThat(lite("--manager", manager.url(), "env")).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).contains("\"env\" asks no manager; leave out --manager", "lite env --help");
        assertThat(lite("--manager", manager.url(), "env", "--help")).isZero();
        assertThat(lite("--manager", manager.url())).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).contains("missing command");
    }

    @Test
    void jsonPrintsTheManagersAnswer() {
        manager.with("GET /api/nodes?state=true", 200, NODES);
        assertThat(ask("nodes", "--json")).isZero();
        assertThat(ManagerClient.JSON.readTree(out.toString()))
                .isEqualTo(ManagerClient.JSON.readTree(NODES.replace('\'', '"')));
    }

    @ParameterizedTest
    @ValueSource(strings = {"nodes", "nodes --json", "--help"})
    void aCommandWhoseOutputCannotBeWrittenFailsWithTheReason(String command) {
        manager.with("GET /api/nodes?state=true", 200, NODES);
        assertThat(writeTo("No space left on device", command)).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).isEqualTo("lite: cannot write to standard output: No space left on device\n");
    }

    @Test
    void aCommandWhoseReaderHasEnoughDoesNotFail() {
        manager.with("GET /api/nodes?state=true", 200, NODES);
        assertThat(writeTo("Broken pipe", "nodes --json")).isZero();
        assertThat(err.toString()).isEmpty();
    }

    /** Executes a command whose output fails. */
    private int writeTo(String failure, String command) {
        OutputStream failing = new OutputStream() {
            @Override
            public void write(int value) throws IOException {
                throw new IOException(failure);
            }
        };
        String[] line = (command.equals("--help") ? command : command + " --manager " + manager.url()).split(" ");
        return LiteMain.execute(new Streams(InputStream.nullInputStream(), failing), new PrintWriter(err, true), line);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {"nothing|0", "'leader':'host/7'|1", "'directoryAvailable':true|1"})
    void theExitStatusOfStatusShowsWhetherThereIsALeaderAndZooKeeper(String missing, int status) {
        manager.with("GET /api/manager", 200, missing.equals("nothing") ? VIEW : VIEW.replace(missing, "'x':1"))
                .with("GET /api/nodes", 200, NODES)
                .with(
                        "GET /api/epochs",
                        200,
                        "{'number':5,'members':[],'removals':[{'fenced':false},{'fenced':true}]}");
        assertThat(ask("status")).isEqualTo(status);
        assertThat(out.toString())
                .contains("cluster    lite")
                .contains("managers   host/7, b")
                .contains("nodes      2, 1 draining")
                .contains("epoch      5, 1 removal pending")
                .contains("orders     1 open");
    }

    @Test
    void lmrsAreFetchedInPages() {
        manager.with(
                        "GET /api/lmrs?prefix=sh%C3%B6p%2F&after=&limit=500",
                        200,
                        "{'items':[{'name':'shöp/a b','bytes':1000,'state':'LIVE','shares':[{'node':'node-1'},{'nodeId':9}]}],'next':'shöp/a b'}")
                .with(
                        "GET /api/lmrs?prefix=sh%C3%B6p%2F&after=sh%C3%B6p%2Fa%20b&limit=500",
                        200, "{'items':[{'name':'shöp/c','bytes':2048,'state':'MOVING','shares':[]}]}");
        assertThat(ask("lmrs", "shöp/")).as(err.toString()).isZero();
        assertThat(out.toString()).isEqualTo("""
                NAME      SIZE    STATE   NODES
                shöp/a b  1000 B  LIVE    node-1,(9, away)
                shöp/c    2 KiB   MOVING
                """);
    }

    @Test
    void drainWaitsUntilTheOrderIsDone() {
        manager.with("POST /api/nodes/node-1/drain", 202, "{'id':7,'state':'WANTED','note':''}")
                .with(
                        "GET /api/orders/7",
                        200,
                        "{'id':7,'state':'RUNNING','executor':'node-1','done':1,'total':4,'note':'bytes'}")
                .with("GET /api/orders/7", 200, "{'id':7,'state':'DONE','executor':'node-1','note':''}");
        assertThat(ask("drain", "node-1", "--leave")).isZero();
        assertThat(manager.requests().getFirst()).isEqualTo("POST /api/nodes/node-1/drain {\"leave\":true}");
        assertThat(out.toString()).isEqualTo("""
                order 7 WANTED
                order 7 RUNNING by node-1, 1 of 4: bytes
                order 7 DONE by node-1
                """);
    }

    @Test
    void aFailedOrderEndsWithExitStatusOneAndItsReason() {
        manager.with("POST /api/lmrs/shop%2Fx/move", 202, "{'id':8,'state':'FAILED','note':'no room on node-2'}");
        assertThat(ask("move", "shop/x", "node-2")).isEqualTo(ExitStatus.FAILED);
        assertThat(manager.requests()).containsExactly("POST /api/lmrs/shop%2Fx/move {\"node\":\"node-2\"}");
        assertThat(err.toString()).isEqualTo("lite: order 8 failed: no room on node-2\n");
    }

    @Test
    void anOrderIsCancelled() {
        manager.with("DELETE /api/orders/7", 200, "{'id':7,'state':'FAILED','done':1,'total':4,'note':'cancelled'}")
                .with("DELETE /api/orders/8", 409, "{'detail':'order 8 has ended already: it is DONE'}");
        assertThat(ask("orders", "cancel", "7")).isZero();
        assertThat(out.toString()).isEqualTo("order 7 FAILED, 1 of 4: cancelled\n");
        assertThat(ask("orders", "cancel", "8")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).isEqualTo("lite: order 8 has ended already: it is DONE\n");
    }

    @Test
    void aMissingSocketIsReported() {
        assertThat(lite("get", "x", "--socket", directory.resolve("none.sock").toString()))
                .isEqualTo(ExitStatus.UNREACHABLE);
        assertThat(err.toString()).contains("none.sock").doesNotContain("\tat ");
        assertThat(lite("get", "x", "--name", "no-such-cluster-here")).isEqualTo(ExitStatus.UNREACHABLE);
        assertThat(err.toString()).contains("give --socket or LITE_CLIENT_SOCKET");
    }

    @Test
    void topShowsRatesFromTwoReadings() {
        String reading =
                "[{'name':'n1','incarnation':%d,'state':{'sessions':[%s],'operations':{'read':{'operations':%d,'bytes':%d}}}},{'name':'n2','incarnation':1,'problem':'paused'}]";
        String session = "{'id':%d,'principal':'%s','operations':{'read':{'operations':%d,'bytes':%d}}}";
        String then = session.formatted(1, "shop", 1000, 64_000);
        String now = String.join(
                ",",
                session.formatted(1, "shop", 251_000, 16_064_000),
                session.formatted(2, "shop", 500_000, 32_000_000),
                session.formatted(3, "audit", 250_000, 16_000_000));
        manager.with("GET /api/nodes?state=true", 200, reading.formatted(1, then, 1000, 64_000))
                .with("GET /api/nodes?state=true", 200, reading.formatted(1, now, 1_001_000, 64_064_000))
                .with("GET /api/nodes?state=true", 200, reading.formatted(2, then, 5, 5));
        assertThat(ask("top", "--every", "100ms", "--count", "2", "--json")).isZero();
        String[] lines = out.toString().split("\n");
        assertThat(lines).hasSize(2);
        var first = ManagerClient.JSON.readTree(lines[0]);
        assertThat(first.get(0).get("read").asDouble()).isBetween(1.0, 10_000_000.0);
        assertThat(first.get(0).get("bytes").asDouble()
                        / first.get(0).get("read").asDouble())
                .isEqualTo(64);
        var principals = first.get(0).get("principals");
        assertThat(principals.valueStream().map(its -> its.get("principal").asString()))
                .containsExactly("audit", "shop");
        assertThat(principals.get(1).get("sessions").asInt()).isEqualTo(2);
        assertThat(principals.get(1).get("read").asDouble()
                        / principals.get(0).get("read").asDouble())
                .isCloseTo(3, within(1e-6));
        assertThat(first.get(1).get("problem").asString()).isEqualTo("paused");
        var restarted = ManagerClient.JSON.readTree(lines[1]);
        assertThat(restarted.get(0).has("read")).isFalse();
        out.getBuffer().setLength(0);
        assertThat(ask("top", "--every", "100ms", "--count", "1")).isZero();
        assertThat(out.toString())
                .contains("NODE  PRINCIPAL  SESSIONS  READ/S")
                .contains("n1    (all)      1         0")
                .contains("n1    shop       1         0")
                .contains("n2    (all)      ?");
    }

    @Test
    void anLmrIsShownWithItsPlaceAndPermissions() {
        manager.with(
                "GET /api/lmrs/shop%2Fx",
                200,
                "{'name':'shop/x','id':'12','state':'MOVING','bytes':2048,'shares':[{'node':'node-1','bytes':2048,'runs':1}],"
                        + "'defaultPermissions':['READ'],'grants':{'uid:7':['READ','MASTER'],'x':[]},'movingTo':[{'nodeId':3,'bytes':2048,'runs':2}]}");
        assertThat(ask("lmr", "shop/x")).isZero();
        assertThat(out.toString()).isEqualTo("""
                name         shop/x
                id           12
                state        MOVING
                size         2048 (2 KiB)
                others may   READ
                uid:7        READ, MASTER
                x            nothing
                share at     node-1: 2 KiB in 1 piece
                moves to     (3, away): 2 KiB in 2 pieces
                """);
    }

    @Test
    void locksAreShownWithTheirHoldersAsFarAsKnown() {
        manager.with(
                "GET /api/locks?state=true&prefix=&after=&limit=500",
                200,
                "{'items':[{'name':'a','node':'node-1','taken':true,'waiters':2,'holder':{'node':'node-2','application':'shop'}},"
                        + "{'name':'b','node':'node-1','taken':false,'waiters':0},{'name':'c','nodeId':9}]}");
        assertThat(ask("locks")).isZero();
        assertThat(out.toString()).isEqualTo("""
                NAME  HOME       HOLDER          WAITERS
                a     node-1     shop at node-2  2
                b     node-1                     0
                c     (9, away)  ?               ?
                """);
    }

    @Test
    void epochsShowRemovedNodesThatAreNotFencedYet() {
        manager.with(
                "GET /api/epochs",
                200,
                "{'number':5,'members':[{'name':'n1','id':0,'incarnation':3}],'removals':[{'name':'n2','id':1,'incarnation':2,'fenced':false}]}");
        assertThat(ask("epochs")).isZero();
        assertThat(out.toString()).isEqualTo("""
                epoch 5
                NODE  ID  INCARNATION  STATE
                n1    0   3            member
                n2    1   2            removed, NOT FENCED YET
                """);
    }

    @Test
    void sessionsAreListedAndSilentNodesAreNamed() {
        manager.with(
                "GET /api/sessions",
                200,
                "{'sessions':[{'node':'n1','id':7,'application':'shop','principal':'uid:0','pid':99,'since':'2026-01-01T00:00:00Z'}],'silent':[{'node':'n2','problem':'no answer'}]}");
        assertThat(ask("sessions")).isZero();
        assertThat(out.toString()).isEqualTo("""
                NODE  ID  APPLICATION  PRINCIPAL  PROCESS  SINCE
                n1    7   shop         uid:0      99       2026-01-01T00:00:00Z
                """);
        assertThat(err.toString()).isEqualTo("n2: no answer\n");
    }

    @Test
    void watchPrintsEventsAndReconnectsWhereItStopped() {
        manager.with("GET /api/events", 200, """
                        :alive
                        id:m-1
                        event:state
                        data:{"nodes":[{"name":"n1"}],"leadership":{"managers":["m"]},"directory":{"available":true}}

                        id:m-2
                        event:orders
                        data:{"changed":[{"id":7,"kind":"DRAIN","node":"n1","state":"RUNNING","executor":"n1","note":""}]}

                        """).with("GET /api/events", 200, """
                        id:m-3
                        event:nodes
                        data:{"joined":[{"name":"n2","id":1,"incarnation":4}],"left":[{"name":"n1"}]}

                        id:m-4
                        event:audit
                        data:{"client":"alice","address":"10.0.0.1","method":"POST","path":"/api/rebalance","body":"{}","status":202}

                        """);
        assertThat(ask("watch", "--for", "4s")).isZero();
        assertThat(out.toString().replaceAll("(?m)^[0-9:]*  ", "")).startsWith("""
                nodes: n1
                managers, the leader first: m
                ZooKeeper is available
                order 7 RUNNING by n1 (DRAIN n1)
                node n2 joined: id 1, incarnation 4
                node n1 left
                alice at 10.0.0.1: POST /api/rebalance {}: 202
                """);
        assertThat(manager.lastEventIds()).startsWith("", "m-2");
    }

    @Test
    void watchWithJsonPrintsALineForEachEvent() {
        manager.with("GET /api/events", 200, "id:m-1\nevent:nodes\ndata:{\"joined\":[]}\n\n");
        assertThat(ask("watch", "--for", "300ms", "--json")).isZero();
        assertThat(out.toString()).isEqualTo("{\"id\":\"m-1\",\"type\":\"nodes\",\"data\":{\"joined\":[]}}\n");
        assertThat(lite("watch", "--manager", "http://127.0.0.1:1")).isEqualTo(ExitStatus.UNREACHABLE);
    }

    @Test
    void anOrderThatIsNotDoneInTimeEndsWithExitStatusFive() {
        manager.with("POST /api/rebalance", 202, "{'id':9,'state':'WANTED'}")
                .with("GET /api/orders/9", 200, "{'id':9,'state':'WANTED'}");
        assertThat(ask("rebalance", "--deadline", "0")).isEqualTo(ExitStatus.NOT_YET);
        assertThat(err.toString()).contains("order 9 is WANTED after 0 s and still running");
        assertThat(ask("rebalance", "--no-wait")).isZero();
        assertThat(out.toString()).endsWith("order 9 WANTED\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "drain",
                "move lmr",
                "nodes --limit 3",
                "lmrs --limit 0",
                "lmrs --limit x",
                "nodes --manager ftp://x",
                "nodes --manager ,",
                "nodes --timeout 0",
                "rebalance --deadline -1",
                "up --arena much",
                "orders cancel",
                "orders cancel x",
                "orders --json cancel 7",
                "lmr",
                "locks --limit 0",
                "logs",
                "logs node-1 --lines -1",
                "watch --for soon",
                "watch --for 0s",
                "get",
                "get x --offset -1",
                "get x --length much",
                "put",
                "put x /no/such/file",
                "dump x --offset x",
                "create x",
                "create x 0",
                "create x 1TB",
                "create x 1KB --nodes a,,b",
                "create x 1KB --others-may master",
                "create x 1KB --others-may all",
                "free",
                "grant x y",
                "grant x y write,swim",
                "get x --timeout 0",
                "top --every 1ms",
                "top --count 0",
                "bench --count 0"
            })
    void anInvalidCommandLineEndsWithExitStatusTwo(String line) {
        assertThat(line.isEmpty() ? lite() : lite(line.split(" "))).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).isNotBlank().doesNotContain("\tat ");
    }

    @Test
    void anArenaWithWhichNoNodeCouldStartIsRefused() {
        assertThat(lite("up", "--arena", "4MB")).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).isEqualTo("lite: --arena is 4MB; it must be at least 5MB\n");
    }

    @Test
    void theHelpListsEveryExitStatus() {
        assertThat(lite("--help")).isZero();
        assertThat(out.toString())
                .contains("Exit status:")
                .contains("5   the order is still running")
                .contains("LITE_MANAGER");
    }

    @Test
    void theCompletionScriptWorksInBash() throws IOException, InterruptedException {
        assertThat(lite("completion")).isZero();
        assertThat(out.toString()).contains("rebalance").contains("--token-file");
        Path script = Files.writeString(directory.resolve("completion"), out.toString(), StandardCharsets.UTF_8);
        assertThat(bash("-n", script.toString())).isEmpty();
    }

    private String bash(String... arguments) throws IOException, InterruptedException {
        String[] command = new String[arguments.length + 1];
        command[0] = "bash";
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        Process bash = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        assertThat(bash.waitFor(30, TimeUnit.SECONDS)).isTrue();
        String printed = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.exitValue()).as(printed).isZero();
        return printed;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "drain node-|node-1 node-2",
                "undrain node-2|node-2",
                "drain --leave node-1|node-1",
                "move shop/|shop/counters shop/\\$\\(touch\\ harm\\)",
                "move shop/counters node-|node-1 node-2",
                "orders c|cancel",
                "get --length 5|",
                "create shop/|",
                "env --node n|node-1 node-2",
                "env --node = n|node-1 node-2",
                "logs node-|node-1 node-2",
                "logs --name other o|other-1",
                "logs --name = other o|other-1",
                "logs --name=other o|other-1",
                "logs --lines 5 --follow node-2|node-2",
                "logs --name = o|",
                "stop --name other node-|",
                "move --timeout 5 shop/counters node-|node-1 node-2"
            })
    void theCompletionScriptOffersNamesOfTheClusterAndNeverExpandsThem(String line, @Nullable String offered)
            throws IOException, InterruptedException {
        assertThat(lite("completion")).isZero();
        Path script = Files.writeString(directory.resolve("completion"), """
                %s
                lite() {
                  case "$4$6$7" in
                    processes--nameother) echo other-1 ;;
                    lmrs) printf '%%s\\n' shop/counters 'shop/$(touch harm)' other ;;
                    *) printf '%%s\\n' node-1 node-2 ;;
                  esac
                }
                compopt() { :; } # works in a completion only
                COMP_WORDS=(lite %s)
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _complete_lite_names
                echo "${COMPREPLY[*]}"
                """.formatted(out.toString(), line));
        assertThat(bash(script.toString()).strip()).isEqualTo(offered == null ? "" : offered);
        assertThat(directory.resolve("harm")).doesNotExist();
    }

    @Test
    void namesForTheCompletionArePrintedLineByLine() {
        manager.with("GET /api/nodes", 200, NODES)
                .with("GET /api/lmrs?limit=100&prefix=shop", 200, "{'items':[{'name':'shop/a b'},{'name':'shop/b'}]}");
        assertThat(ask("names", "nodes", "node-t")).isZero();
        assertThat(ask("names", "lmrs", "shop")).isZero();
        assertThat(out.toString()).isEqualTo("node-two\nshop/a b\nshop/b\n");
        assertThat(ask("names", "wishes")).isEqualTo(ExitStatus.USAGE);
    }

    @Test
    void namesOfProcessesAreThoseOfTheNamedCluster() {
        assertThat(lite("names", "processes", "node-", "--name", "not-started")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).contains("no cluster \"not-started\" was started here");
        assertThat(lite("names", "processes", "--name", "../x")).isEqualTo(ExitStatus.USAGE);
        assertThat(lite("names", "nodes", "--name", "other")).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).contains("--name is \"other\"; only processes have it, not nodes");
    }

    private static final String QOS =
            "{'revision':3,'policy':{'mode':'SW_PRI','highShare':75,'lowShare':25,'lightLoad':0.1,'heavyLoad':1.0,'roundTripFactor':2.0,'lowBytesPerSecond':1048576,'quotas':{'batch':{'bytesPerSecond':65536,'operationsPerSecond':null}}}}";

    @Test
    void qosShowsThePolicy() {
        manager.with("GET /api/qos", 200, QOS);
        assertThat(ask("qos")).isZero();
        assertThat(out.toString()).isEqualTo("""
                REVISION  MODE    HIGH SHARE  LIGHT LOAD  HEAVY LOAD  ROUND TRIP FACTOR  LOW RATE
                3         SW_PRI  75 %        0.1         1.0         2.0                1 MiB/s
                PRINCIPAL  BYTES PER SECOND  OPERATIONS PER SECOND
                batch      65536
                """);
    }

    @Test
    void qosChangesWhatItsOptionsSay() {
        manager.with("PUT /api/qos", 200, QOS);
        assertThat(ask("qos", "--mode", "sw-pri", "--heavy-load", "4", "--bytes-quota", "batch=65536"))
                .isZero();
        assertThat(manager.requests())
                .containsExactly(
                        "PUT /api/qos {\"mode\":\"sw-pri\",\"heavyLoad\":4.0,\"quotas\":{\"batch\":{\"bytesPerSecond\":65536}}}");
    }

    @Test
    void qosPrintsTheManagersRefusal() {
        manager.with("PUT /api/qos", 400, "{'detail':'mode is fast'}");
        assertThat(ask("qos", "--mode", "fast")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).contains("mode is fast");
        assertThat(ask("qos", "--no-quotas", "--bytes-quota", "batch=65536")).isEqualTo(ExitStatus.USAGE);
        assertThat(err.toString()).contains("give only one of both");
    }

    @Test
    void theMessageOfAFailureOfAFileHasItsReasonOnce() {
        assertThat(LiteMain.message(new UncheckedIOException("cannot create /a/b", new AccessDeniedException("/a/b"))))
                .isEqualTo("cannot create /a/b: permission denied");
        FileSystemException full = new FileSystemException("/a/b", null, "No space left on device");
        assertThat(LiteMain.message(new UncheckedIOException("cannot write /a/b", full)))
                .isEqualTo("cannot write /a/b: No space left on device");
        assertThat(LiteMain.message(new UncheckedIOException("cannot write /a/b: " + full.getMessage(), full)))
                .isEqualTo("cannot write /a/b: /a/b: No space left on device");
        assertThat(LiteMain.message(new UncheckedIOException("cannot lock /a/b", new IOException("too many locks"))))
                .isEqualTo("cannot lock /a/b: too many locks");
    }
}
