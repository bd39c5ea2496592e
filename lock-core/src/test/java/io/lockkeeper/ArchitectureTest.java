/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The directions in which packages may depend on each other. */
class ArchitectureTest {

    private static final Set<String> PUBLIC_INTERNALS = Set.of("LeaseManager");

    private static final JavaClasses CORE = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .withImportOption(new ImportOption.DoNotIncludeJars())
            .importPackages("io.lockkeeper");

    @Test
    void theApiKnowsOnlyTheStoreInterface() {
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper")
                .and()
                .doNotBelongToAnyOf(LockTemplate.Builder.class)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.engine..", "io.lockkeeper.redis..", "io.lockkeeper.memory..")
                .because("the engine is reached through an interface that the API owns, and made by the builder alone")
                .check(CORE);
    }

    @Test
    void theStoreInterfaceStandsAlone() {
        classes()
                .that()
                .resideInAPackage("io.lockkeeper.store")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.store", "java..", "org.jspecify..")
                .because("stores can be written without the API")
                .check(CORE);
    }

    @Test
    void theEngineNeverSeesAStoreOfAnyKindNorSpring() {
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper.engine")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.redis..", "io.lockkeeper.memory..", "org.springframework..")
                .because("the engine is a state machine without I/O")
                .check(CORE);
    }

    @Test
    void storesKnowOnlyTheStoreInterface() {
        noClasses()
                .that()
                .resideInAnyPackage("io.lockkeeper.redis..", "io.lockkeeper.memory")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper", "io.lockkeeper.engine")
                .because("redis and memory depend on the store interface alone")
                .check(CORE);
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper.memory")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.redis", "org.springframework..")
                .because("the memory store needs nothing")
                .check(CORE);
    }

    @Test
    void packagesFormNoCycles() {
        slices().matching("io.lockkeeper.(*)..").should().beFreeOfCycles().check(CORE);
    }

    @Test
    void filesOfTheEngineFormNoCycles() {
        SliceAssignment files = new SliceAssignment() {
            @Override
            public SliceIdentifier getIdentifierOf(JavaClass type) {
                return type.getPackageName().equals("io.lockkeeper.engine")
                        ? SliceIdentifier.of(outermost(type).getSimpleName())
                        : SliceIdentifier.ignore();
            }

            @Override
            public String getDescription() {
                return "files of the engine";
            }
        };
        slices().assignedFrom(files).should().beFreeOfCycles().check(CORE);
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(ArchitectureTest::outermost).orElse(type);
    }

    @Test
    void internalsArePackagePrivate() {
        classes()
                .that()
                .resideInAPackage("io.lockkeeper.engine")
                .and()
                .areTopLevelClasses()
                .and(new DescribedPredicate<>("are not entries") {
                    @Override
                    public boolean test(JavaClass type) {
                        return !PUBLIC_INTERNALS.contains(type.getSimpleName())
                                && !type.getSimpleName().equals("package-info");
                    }
                })
                .should()
                .bePackagePrivate()
                .because("the builder of the template needs the manager alone")
                .check(CORE);
    }
}
