package dev.lite.system;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Enforces the table of modules: which modules may use which, and what no module may contain. */
class ArchitectureTest {
    private static JavaClasses lite;

    @BeforeAll
    static void importEverything() {
        lite = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("dev.lite");
    }

    @Test
    void everyModuleIsChecked() {
        for (String part : new String[] {
            "api",
            "os",
            "session",
            "client",
            "boot",
            "cluster",
            "manager",
            "fabric",
            "fabric.shm",
            "fabric.tcp",
            "fabric.rdma",
            "tier",
            "embedded",
            "test",
            "node",
            "local",
            "cli",
            "demo",
            "log",
            "mr",
            "samples.priceboard",
            "samples.ordercounter",
            "samples.thumbnail"
        }) {
            assertThat(lite.containPackage("dev.lite." + part)).as(part).isTrue();
        }
    }

    @Test
    void packagesHaveNoCycles() {
        slices().matching("dev.lite.(**)").should().beFreeOfCycles().check(lite);
    }

    @Test
    void applicationsInterfaceUsesTheJdkOnly() {
        onlyUses("api");
    }

    @Test
    void linuxCallsUseTheJdkOnly() {
        onlyUses("os");
    }

    @Test
    void sessionUsesTheInterfaceAndLinux() {
        onlyUses("session", "api", "os");
    }

    @Test
    void clientUsesTheSession() {
        onlyUses("client", "api", "os", "session");
    }

    @Test
    void autoConfigurationUsesTheInterfaceOnly() {
        onlyUses("boot", "api");
    }

    @Test
    void theLogUsesTheInterfaceOnly() {
        onlyUses("log", "api");
    }

    @Test
    void mapReduceUsesTheInterfaceOnly() {
        onlyUses("mr", "api");
    }

    @Test
    void samplesUseTheStarterOnlyAndNotEachOther() {
        onlyUses("samples.priceboard", "api", "boot");
        onlyUses("samples.ordercounter", "api", "boot");
        onlyUses("samples.thumbnail", "api", "boot");
    }

    @Test
    void clusterUsesTheInterfaceAndLinux() {
        onlyUses("cluster", "api", "os");
    }

    @Test
    void commandLineUsesTheClusterOnlyByRestAndAsAnApplication() {
        onlyUses("local");
        onlyUses("cli", "local", "api", "mr");
    }

    @Test
    void fabricDriversUseTheSpiAndLinux() {
        onlyUses("fabric", "api", "os");
        noClasses()
                .that()
                .resideInAPackage("dev.lite.fabric")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("dev.lite.fabric.*..", "dev.lite.os..")
                .check(lite);
    }

    @Test
    void tierUsesNoDriver() {
        onlyUses("tier", "api", "os", "session", "cluster", "fabric");
        noClasses()
                .that()
                .resideInAPackage("dev.lite.tier..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.lite.fabric.*..")
                .check(lite);
    }

    /** Rules for LITE's own packages; libraries have separate rules below. */
    private static void onlyUses(String part, String... others) {
        String[] allowed = new String[others.length + 1];
        allowed[0] = "dev.lite." + part + "..";
        for (int index = 0; index < others.length; index++) {
            allowed[index + 1] = "dev.lite." + others[index] + "..";
        }
        noClasses()
                .that()
                .resideInAPackage("dev.lite." + part + "..")
                .should()
                .dependOnClassesThat(resideInAPackage("dev.lite..").and(resideOutsideOfPackages(allowed)))
                .check(lite);
    }

    @Test
    void curatorIsOnlyInTheCluster() {
        noClasses()
                .that()
                .resideOutsideOfPackage("dev.lite.cluster..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.apache.curator..")
                .check(lite);
    }

    @Test
    void zooKeeperIsOnlyInTheClusterAndTheManagersEmbeddedServer() {
        noClasses()
                .that()
                .resideOutsideOfPackages("dev.lite.cluster..", "dev.lite.manager.zookeeper..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.apache.zookeeper..")
                .check(lite);
    }

    @Test
    void springIsOnlyInTheProcessesAndTheAutoConfiguration() {
        noClasses()
                .that(resideOutsideOfPackages(
                        "dev.lite.node..",
                        "dev.lite.manager..",
                        "dev.lite.process..",
                        "dev.lite.boot..",
                        "dev.lite.embedded..",
                        "dev.lite.test..",
                        "dev.lite.testing.boot..",
                        "dev.lite.demo..",
                        "dev.lite.log.boot..",
                        "dev.lite.mr.boot..",
                        "dev.lite.samples.."))
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.springframework.."))
                .check(lite);
    }

    @Test
    void disniIsOnlyInTheRdmaDriver() {
        noClasses()
                .that()
                .resideOutsideOfPackage("dev.lite.fabric.rdma..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.ibm.disni..")
                .check(lite);
    }

    @Test
    void noCodeSleepsAndOnlyTheStagedWaitYields() {
        noClasses().should().callMethod(Thread.class, "sleep", long.class).check(lite);
        noClasses()
                .should()
                .callMethod(Thread.class, "sleep", java.time.Duration.class)
                .check(lite);
        // A yield is a stage of a wait; only there the clock tells whether it helps.
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName("dev.lite.os.waiting.StagedWait")
                .should()
                .callMethod(Thread.class, "yield")
                .check(lite);
        // A park with a blocker is a wait that another thread ends by unpark.
        noClasses()
                .that()
                .resideOutsideOfPackages("dev.lite.os.waiting..", "dev.lite.testing..")
                .should()
                .callMethod(LockSupport.class, "parkNanos", long.class)
                .check(lite);
    }

    @Test
    void noMethodDeclaresThrowsException() {
        methods()
                .that(describe(
                        "are written by people",
                        (JavaMethod method) -> !method.getModifiers().contains(JavaModifier.SYNTHETIC)))
                .should()
                .notDeclareThrowableOfType(Exception.class)
                .check(lite);
    }

    @Test
    void noPublicStaticFieldCanChange() {
        fields().that().areStatic().and().arePublic().should().beFinal().check(lite);
    }

    @Test
    void noStaticMethodIsSynchronized() {
        // Nodes of a simulation share a JVM, and a killed one would never give the class's monitor back.
        methods()
                .that()
                .areStatic()
                .should()
                .notHaveModifier(JavaModifier.SYNCHRONIZED)
                .check(lite);
    }
}
