/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The directions in which packages may depend on each other, in this module and in the core below it. */
class ModuleArchitectureTest {

    private static final JavaClasses ALL = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("io.lockkeeper");

    @Test
    void theAnnotationKnowsOnlyTheApi() {
        classes()
                .that()
                .resideInAPackage("io.lockkeeper.annotation")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.lockkeeper",
                        "io.lockkeeper.annotation",
                        "java..",
                        "org.jspecify..",
                        "org.springframework.core.annotation")
                .because("code under the annotation should not need more to compile")
                .check(ALL);
    }

    @Test
    void theInterceptorLocksThroughTheApiAlone() {
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper.interceptor")
                // The one place that reads the @Transactional of annotated methods
                .and()
                .haveNameNotMatching(".*\\.MethodTransactions(\\$.*)?")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.lockkeeper.engine..",
                        "io.lockkeeper.store..",
                        "io.lockkeeper.redis..",
                        "io.lockkeeper.quorum..",
                        "io.lockkeeper.memory..",
                        "io.lockkeeper.weaving..",
                        "io.lockkeeper.autoconfigure..",
                        "org.springframework.boot..",
                        "org.springframework.data..",
                        "org.springframework.transaction..",
                        "org.aspectj..")
                .because("what an annotation means does not depend on where locks are kept or how beans are configured")
                .check(ALL);
    }

    @Test
    void theCoreKnowsNothingOfThisModuleNorOfSpringBoot() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        "io.lockkeeper",
                        "io.lockkeeper.engine",
                        "io.lockkeeper.store",
                        "io.lockkeeper.redis",
                        "io.lockkeeper.quorum",
                        "io.lockkeeper.memory")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.lockkeeper.annotation..",
                        "io.lockkeeper.interceptor..",
                        "io.lockkeeper.autoconfigure..",
                        "org.springframework.boot..")
                .because("the core runs without Spring Boot")
                .check(ALL);
    }

    @Test
    void wovenCodeKnowsNothingButItsInterceptor() {
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper.weaving")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.lockkeeper.interceptor..", "io.lockkeeper.autoconfigure..", "org.springframework..")
                .because("it is reached from classes of the application, woven or not")
                .check(ALL);
    }

    @Test
    void packagesOfThisModuleHaveNoCycles() {
        slices().matching("io.lockkeeper.(annotation|interceptor|weaving|autoconfigure)..")
                .should()
                .beFreeOfCycles()
                .check(ALL);
    }

    @Test
    void onlyThePackagesForThemKnowMicrometerAndTheActuator() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.lockkeeper.autoconfigure.observation")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.micrometer..")
                .because("Micrometer is optional")
                .check(ALL);
        noClasses()
                .that()
                .resideOutsideOfPackage("io.lockkeeper.autoconfigure.actuate")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.springframework.boot.actuate..", "org.springframework.boot.health..")
                .because("the actuator is optional")
                .check(ALL);
        noClasses()
                .that()
                .resideInAPackage("io.lockkeeper.autoconfigure")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.autoconfigure.observation", "io.lockkeeper.autoconfigure.actuate")
                .because("what is optional comes on top")
                .check(ALL);
    }

    @Test
    void configurationsOfStoresAreHidden() {
        classes()
                .that()
                .resideInAPackage("io.lockkeeper.autoconfigure")
                .and()
                .haveSimpleNameNotStartingWith("Lockkeeper")
                .and()
                .areTopLevelClasses()
                .should()
                .bePackagePrivate()
                .because("applications use the beans and the properties, not the machinery")
                .check(ALL);
    }
}
